package metrics

import (
	"time"

	"github.com/sqluice/sqluice/internal/labels"
)

const MostNames = labels.Most

// Forget has the next reading ask the database.
func Forget(q *Queue) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.last = reading{}
}

// Freeze has the queue's clock stand still.
func Freeze(q *Queue) {
	now := time.Now()
	q.now = func() time.Time { return now }
}
