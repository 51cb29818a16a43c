//go:build unix

package crashtest

import (
	"testing"
	"time"

	"github.com/sqluice/sqluice/internal/test/testdb"
)

// A worker that polls only once a minute starts jobs that another process enqueues, also in a transaction: only
// notifications can tell it in time.
func TestPostgresWake(t *testing.T) {
	const poll = time.Minute
	address, _ := postgresQueue(t, testdb.StartPostgres(t))
	worker := start(t, role{
		Do: "worker", DB: address, Name: "idle", Queues: map[string]int{"default": 100}, Poll: poll.String(),
	})
	worker.said("worker started")
	// A job found by a poll exceeds the limit.
	list := latencies(t, start(t, role{Do: "ask", DB: address}), worker, 60, poll-10*time.Second)
	logLatencies(t, "from the enqueue's return", list)
	worker.release()
}
