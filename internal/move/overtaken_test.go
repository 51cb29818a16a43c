package move

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/engine"
)

// Of two concurrent calls only one adds each row, whichever is faster, and at least one completes.
func testTwoAtOnce(l *lab) {
	all := oddities()
	l.put(l.from, all)
	var errs [3]error
	var running sync.WaitGroup
	for i := range errs {
		c := l.config()
		running.Go(func() { _, errs[i] = Run(l.ctx, c) })
	}
	running.Wait()
	if errs[0] != nil && errs[1] != nil && errs[2] != nil {
		l.Errorf("none came to the end: %v; %v; %v", errs[0], errs[1], errs[2])
	}
	if report := l.moves(l.config()); report.Since == 0 {
		l.Errorf("none has ended the move: %v", errs)
	}
	l.wantEverything(l.to, all)
	l.wantOpen(l.to)
	l.wantClosed(l.from)
}

// partOfIt runs the same move as another process would, which ends after a batch of its jobs.
func (l *lab) partOfIt() {
	l.Helper()
	l.untilIt(func(p Progress) bool { return p.Doing == "copying sqluice_jobs" && p.Rows > 0 })
}

// untilIt runs the same move as another process would, which ends at a given step.
func (l *lab) untilIt(ends func(Progress) bool) {
	l.Helper()
	ctx, stop := context.WithCancel(l.ctx)
	defer stop()
	c := l.config()
	c.Progress = func(p Progress) {
		if ends(p) {
			stop()
		}
	}
	if _, err := Run(ctx, c); !errors.Is(err, context.Canceled) {
		l.Errorf("another call ends with %v", err)
	}
}

// A call that is overtaken by another one ends at once, and undoes nothing.
func testOvertaken(l *lab) {
	l.enqueue(l.from, 45)
	for _, doing := range []string{"waiting for transactions on " + l.to.name, "copying sqluice_jobs"} {
		c := l.config()
		c.Progress = at(doing, l.partOfIt)
		_, err := Run(l.ctx, c)
		l.wantError(err, errTwice, "target "+l.to.name)
		l.wantClosed(l.from)
		l.wantClosed(l.to)
	}
	if n := len(l.everything(l.to).jobs); n != 20 {
		l.Errorf("the target has %d jobs", n)
	}
	l.moves(l.config())
	if n := len(l.everything(l.to).jobs); n != 45 {
		l.Errorf("the target has %d jobs", n)
	}
}

// overtaken is a store of a call that waits, before one of its uses of both databases, until another call has come far.
type overtaken struct {
	engine.Store
	turn *turn
}

type turn struct {
	at, uses int
	other    func()
}

func (t *turn) use() {
	if t.uses++; t.uses == t.at {
		t.other()
	}
}

func (o overtaken) Read(ctx context.Context, fn func(context.Context, db.Querier) error) error {
	o.turn.use()
	return o.Store.Read(ctx, fn)
}

func (o overtaken) Write(ctx context.Context, fn func(context.Context, db.Querier) error) error {
	o.turn.use()
	return o.Store.Write(ctx, fn)
}

func (o overtaken) Upkeep() engine.Upkeep { return overtakenUpkeep{o.Store.Upkeep(), o.turn} }

type overtakenUpkeep struct {
	engine.Upkeep
	turn *turn
}

func (o overtakenUpkeep) Settle(ctx context.Context) error {
	o.turn.use()
	return o.Upkeep.Settle(ctx)
}

func (o overtakenUpkeep) ReserveIDs(ctx context.Context, last db.GetLastIDsRow) error {
	o.turn.use()
	return o.Upkeep.ReserveIDs(ctx, last)
}

// A call may be overtaken at any place by another one that adds all rows and does not open the target yet. It removes
// none of them.
func testOvertakenAnywhere(l *lab) {
	all := oddities()
	all.jobs = all.jobs[:len(all.jobs)-20]
	l.put(l.from, all)
	step := 1
	if testing.Short() {
		step = 17
	}
	for at, met := 1, true; met; at += step {
		l.store(l.from) // these must outlive the sub-test
		l.store(l.to)
		l.Run(fmt.Sprintf("before use %d", at), func(t *testing.T) {
			sub := *l
			sub.T, sub.ctx = t, withHang(t)
			met = sub.overtakenAt(at, all)
		})
		if at > 500 {
			l.Fatal("the move never ends")
		}
		if l.Failed() {
			return
		}
		_, err := Reopen(withHang(l.T), engine.StoreOf(l.store(l.from))) // each step has the limit for itself
		l.must(err)
		l.to.empty(l.T)
	}
}

// overtakenAt reports whether the call came so far that it was overtaken.
func (l *lab) overtakenAt(at int, all everything) (met bool) {
	c := l.config()
	turn := &turn{at: at, other: func() {
		met = true
		l.untilIt(func(p Progress) bool { return p.Doing == "comparing sqluice_jobs" })
	}}
	c.From.Store, c.To.Store = overtaken{c.From.Store, turn}, overtaken{c.To.Store, turn}
	_, err := Run(l.ctx, c)
	l.wantEverything(l.to, all)
	if err == nil {
		l.wantOpen(l.to)
	} else {
		if !errors.Is(err, errTwice) && !errors.Is(err, ErrElsewhere) && !errors.Is(err, ErrNotEmpty) {
			l.Errorf("the call that was overtaken ends with %v", err)
		}
		l.wantClosed(l.to)
		l.moves(l.config())
	}
	l.wantClosed(l.from)
	l.wantEverything(l.to, all)
	l.wantEverything(l.from, all)
	l.wantOpen(l.to)
	return met
}
