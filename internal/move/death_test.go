package move

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/engine"
)

var errDead = errors.New("the process is dead")

// fate says when the process dies, or meets a passing fault, counted in its uses of both databases. A death after a
// read equals one before the next use, so reads count for faults alone.
type fate struct {
	at     int
	passes bool // the use with the number at fails, without effect, and all others work
	uses   int
	met    bool
}

func (f *fate) use(do func() error) error {
	f.uses++
	switch {
	case f.passes && f.uses == f.at:
		f.met = true
		return errDead
	case f.passes || f.uses < f.at:
		return do()
	case f.uses == f.at: // it dies after this use
		f.met = true
		_ = do() // the outcome never reaches the caller
	}
	return errDead
}

// mortal is a store of a process that dies.
type mortal struct {
	engine.Store
	fate *fate
}

func (m mortal) Read(ctx context.Context, fn func(context.Context, db.Querier) error) error {
	if !m.fate.passes && !m.fate.met {
		return m.Store.Read(ctx, fn)
	}
	return m.fate.use(func() error { return m.Store.Read(ctx, fn) })
}

func (m mortal) Write(ctx context.Context, fn func(context.Context, db.Querier) error) error {
	return m.fate.use(func() error { return m.Store.Write(ctx, fn) })
}

func (m mortal) Upkeep() engine.Upkeep { return mortalUpkeep{m.Store.Upkeep(), m.fate} }

type mortalUpkeep struct {
	engine.Upkeep
	fate *fate
}

func (m mortalUpkeep) Settle(ctx context.Context) error {
	return m.fate.use(func() error { return m.Upkeep.Settle(ctx) })
}

func (m mortalUpkeep) ReserveIDs(ctx context.Context, last db.GetLastIDsRow) error {
	return m.fate.use(func() error { return m.Upkeep.ReserveIDs(ctx, last) })
}

// If the process dies or a database fails at any place, the same move completes when it runs again, and at no moment
// can jobs run on both sides.
func testDeathAnywhere(l *lab) { l.dieEverywhere(false) }

func testDeathOfACopy(l *lab) { l.dieEverywhere(true) }

func (l *lab) dieEverywhere(keepOpen bool) {
	all := oddities()
	all.jobs = all.jobs[:len(all.jobs)-20]
	l.put(l.from, all)
	step := 1
	if testing.Short() {
		step = 17
	}
	for _, passes := range []bool{false, true} {
		for at, met := 1, true; met; at += step {
			name := fmt.Sprintf("dies after use %d", at)
			if passes {
				name = fmt.Sprintf("fails at use %d", at)
			}
			l.store(l.to) // the store must outlive the sub-test
			met = false
			l.Run(name, func(t *testing.T) {
				sub := *l
				sub.T, sub.ctx = t, withHang(t)
				met = sub.dieAt(&fate{at: at, passes: passes}, all, keepOpen)
			})
			if at > 500 {
				l.Fatal("the move never ends")
			}
			if l.Failed() {
				return
			}
			l.to.empty(l.T)
		}
	}
}

// dieAt reports whether the move came so far that it died.
func (l *lab) dieAt(f *fate, all everything, keepOpen bool) (met bool) {
	c := Config{
		From: Side{Name: l.from.name, Store: engine.StoreOf(l.store(l.from))}, To: Side{Name: l.to.name, Store: engine.StoreOf(l.store(l.to))},
		KeepOpen: keepOpen, batch: 10,
	}
	healthy := c
	c.From.Store, c.To.Store = mortal{c.From.Store, f}, mortal{c.To.Store, f}
	_, err := Run(l.ctx, c)
	if f.met {
		if !errors.Is(err, errDead) {
			l.Errorf("the move met its fate and says: %v", err)
		}
		l.checkBetween(keepOpen)
		if !keepOpen || !l.over() {
			l.moves(healthy)
		}
	} else {
		l.must(err)
	}
	l.wantEverything(l.to, all)
	l.wantEverything(l.from, all)
	l.wantOpen(l.to)
	done, err := Reopen(l.ctx, healthy.From.Store)
	l.must(err)
	if done.WasClosed == keepOpen || !keepOpen && !done.MoveEnded {
		l.Errorf("in the end the source is %+v", done)
	}
	return f.met
}

// over reports whether the last step of a copy was done: then no row shows the move any more, and no work is left.
func (l *lab) over() bool {
	return len(l.closings(l.from)) == 0 && len(l.closings(l.to)) == 0 && len(l.everything(l.to).jobs) > 0
}

// checkBetween checks the rule for any moment: an open target has no jobs, or all jobs of a closed source.
func (l *lab) checkBetween(keepOpen bool) {
	l.Helper()
	from, to := l.closings(l.from), l.closings(l.to)
	if len(from) > 1 || len(to) > 1 {
		l.Errorf("closed twice: %+v, %+v", from, to)
	}
	n := len(l.everything(l.to).jobs)
	if len(to) == 0 && n > 0 && n != len(l.everything(l.from).jobs) {
		l.Errorf("the target is open and has %d jobs", n)
	}
	if len(from) == 0 && n > 0 && (!keepOpen || len(to) > 0) {
		l.Errorf("the source is open, and the target has %d jobs", n)
	}
}
