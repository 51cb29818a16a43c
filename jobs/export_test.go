package jobs

import (
	"time"

	"github.com/sqluice/sqluice/db"
)

// ColumnsOf returns the columns that an enqueue with the options inserts, without the payload.
func ColumnsOf(kind string, opts ...EnqueueOption) (db.EnqueueJobParams, error) {
	return newEnqueue(kind, opts).columns(time.Now())
}
