//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"time"
)

// kind is the kind of the lanes' jobs.
const kind = "chaos"

// The engines.
const (
	onSQLite   = "sqlite"
	onPostgres = "postgres"
)

// lane is one sort of chaos.
type lane struct {
	number  int
	name    string
	engines []string
	run     func(context.Context, *trial) error
}

// trial is one run of a lane on an engine. All random choices come from its seed, except those of the scheduler and the
// disk.
type trial struct {
	engine string
	long   bool
	scale  float64
	dir    string // a separate, empty folder
	random *rand.Rand
	log    io.Writer

	mu           sync.Mutex // guards what follows: the row of the table
	jobs, faults int
	found        tally
	pickups      []time.Duration
}

func (t *trial) say(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprintf(t.log, format+"\n", args...)
}

// scaled returns a number of jobs or faults, scaled by the flags.
func (t *trial) scaled(n int) int { return max(1, int(float64(n)*t.scale)) }

// count adds to the row's jobs and faults.
func (t *trial) count(jobs, faults int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.jobs += jobs
	t.faults += faults
}

// find adds to the faults found.
func (t *trial) find(wrong tally) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.found.add(wrong)
}
