package metrics

import (
	"time"

	"github.com/sqluice/sqluice/internal/labels"
)

const MostNames = labels.Most

// Forget drops the cached reading, so that the next one reads the database.
func Forget(q *Queue) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.last = reading{}
}

// Freeze stops the queue's clock.
func Freeze(q *Queue) {
	now := time.Now()
	q.now = func() time.Time { return now }
}
