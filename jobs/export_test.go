package jobs

import (
	"time"

	"github.com/sqluice/sqluice/db"
)

// ColumnsOf returns what an enqueue with the options inserts, but for the payload.
func ColumnsOf(kind string, opts ...EnqueueOption) (db.EnqueueJobParams, error) {
	return newEnqueue(kind, opts).columns(time.Now())
}
