package jobrow

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
)

// declaredFor is the longest time for which a client uses settings of kinds without reading them again.
const declaredFor = time.Second

// Declared holds the settings of all kinds as of the last read. A client and its runners share one. The zero value has read none. It may
// be used concurrently.
type Declared struct{ last atomic.Pointer[reading] }

// reading is one read of the settings.
type reading struct {
	kinds   Kinds
	bounded map[string]bool // the kinds of which a limit bounds the backlog of a key, or orders its jobs
	queues  map[string]bool // the queues whose backlog a limit bounds
	began   time.Time
}

// Read reads the settings from the database.
func (d *Declared) Read(ctx context.Context, q db.Querier) error {
	began := time.Now()
	kinds, err := ReadKinds(ctx, q)
	if err != nil {
		return err
	}
	limited, err := q.ListLimitedKinds(ctx)
	if err != nil {
		return fmt.Errorf("list the kinds with a declared limit: %w", err)
	}
	for _, name := range limited {
		k := kinds[name]
		k.Limited = true
		kinds[name] = k
	}
	bounded, err := q.ListBounded(ctx)
	if err != nil {
		return fmt.Errorf("list the kinds and queues with a bounded backlog: %w", err)
	}
	r := &reading{kinds, map[string]bool{}, map[string]bool{}, began}
	for _, b := range bounded {
		if b.Scope == core.ScopeQueue {
			r.queues[b.Name] = true
		} else {
			r.bounded[b.Name] = true
		}
	}
	d.last.Store(r)
	return nil
}

// IsBounded reports whether a limit of a kind bounds the number of jobs of a key that have not started, or orders them.
func (d *Declared) IsBounded(kind string) bool {
	last := d.last.Load()
	return last != nil && last.bounded[kind]
}

// IsQueueBounded reports whether a limit of a queue bounds the number of its jobs that have not started.
func (d *Declared) IsQueueBounded(queue string) bool {
	last := d.last.Load()
	return last != nil && last.queues[queue]
}

// Expire makes the last read count as old, because what it read may have changed.
func (d *Declared) Expire() {
	if last := d.last.Load(); last != nil {
		d.last.CompareAndSwap(last, &reading{last.kinds, last.bounded, last.queues, time.Time{}})
	}
}

// IsFresh reports whether the last read is less than a second old.
func (d *Declared) IsFresh() bool {
	last := d.last.Load()
	return last != nil && time.Since(last.began) < declaredFor
}

// Settings returns the settings that apply to the jobs of a kind: the declared ones, or own if no program declares the kind.
func (d *Declared) Settings(kind string, own Settings) Settings {
	if k, declared := d.Of(kind); declared {
		return k.Settings
	}
	return own
}

// Of returns the settings that apply to the jobs of a kind, and whether any program has declared the kind.
func (d *Declared) Of(kind string) (k Kind, declared bool) {
	if last := d.last.Load(); last != nil {
		k, declared = last.kinds[kind]
	}
	return k, declared
}
