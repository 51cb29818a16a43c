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

// role says what a process of a test does.
type role struct {
	Do      string         // worker, drain, enqueue, ask, insert or halfway
	DB      string         // the database: a SQLite file's path or a PostgreSQL database's URL
	History string         // where the process appends what it does
	Name    string         // of the worker or enqueuer
	Queues  map[string]int // of the worker
	Ahead   int            // what the worker may claim ahead
	Lease   string         // of the worker, as a duration; the default when empty
	Poll    string         // how often a PostgreSQL store looks unasked, as a duration; the default when empty
	Jobs    int            // how many jobs the enqueuer adds; without it, it goes on until it is killed
	Job     int64          // which one halfway is about to cancel
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
