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
	Do      string         // worker, drain, enqueue or insert
	DB      string         // the database's file
	History string         // where the process appends what it does
	Name    string         // of the worker
	Queues  map[string]int // of the worker
	Lease   string         // of the worker, as a duration; the default when empty
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
