//go:build unix

package crashtest

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"
)

// roleVariable holds the role, as JSON, of a process that a test started.
const roleVariable = "SQLUICE_CRASHTEST_ROLE"

// role describes the work of a process of a test.
type role struct {
	Do      string         // worker, drain, enqueue, ask, insert, halfway, modes or witness
	DB      string         // the database: a SQLite file's path or a PostgreSQL database's URL
	History string         // where the process records its actions
	Name    string         // of the worker or enqueuer
	Queues  map[string]int // of the worker
	Ahead   int            // the worker's Config.Ahead
	Lease   string         // of the worker, as a duration; the default when empty
	Poll    string         // the poll interval of a PostgreSQL store, as a duration; the default when empty
	Jobs    int            // the number of jobs that the enqueuer adds; without it, it continues until it is killed
	Job     int64          // the job that halfway is about to cancel
}

func TestMain(m *testing.M) {
	text, ok := os.LookupEnv(roleVariable)
	if !ok {
		os.Exit(m.Run())
	}
	var r role
	err := json.Unmarshal([]byte(text), &r)
	if err == nil {
		err = r.play()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}
