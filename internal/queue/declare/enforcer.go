package declare

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/audit"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/internal/queue/schedule"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// Enforcer puts a worker's declarations in force where they are the newest of their name among live workers. One goroutine uses it.
type Enforcer struct {
	Scope    *engine.Scope
	Log      *slog.Logger
	Declared []Declaration

	seen workers // the live workers at the last Refresh
}

// workers holds the number of live workers and the largest id of any worker: a larger id shows a worker that came and went between two calls of Refresh.
type workers struct{ number, newest int64 }

// Worker is the caller's own worker.
type Worker struct {
	ID   int64
	Name string
}

// Start puts in force the declarations of a worker that has just registered, and replaces people's changes of them.
func (e *Enforcer) Start(ctx context.Context, w Worker) error {
	e.seen = workers{}
	return e.enforce(ctx, w, true)
}

// Refresh puts declarations in force as Start does if workers came or went since the last call, but keeps people's changes. number is
// the number of live workers, and newest the largest id of all workers, also of ended ones.
func (e *Enforcer) Refresh(ctx context.Context, w Worker, number, newest int64) error {
	now := workers{number, newest}
	if now == e.seen || len(e.Declared) == 0 {
		return nil
	}
	if err := e.enforce(ctx, w, false); err != nil {
		return err
	}
	e.seen = now
	return nil
}

// enforce puts the worker's declarations in force where no live worker declares a newer one. Of several workers with the same one, one
// does it. With all, it also restores rows that people have changed.
func (e *Enforcer) enforce(ctx context.Context, w Worker, all bool) error {
	if len(e.Declared) == 0 {
		return nil
	}
	due, err := core.Value(ctx, e.Scope.Store.Read, func(ctx context.Context, q db.Querier) ([]pending, error) {
		return e.pending(ctx, q, w, all)
	})
	if err == nil && len(due) > 0 {
		err = e.put(ctx, w, all)
	}
	return core.Wrap(err, "put the declarations of the program in force")
}

// pending is a declaration that a worker must put in force, or whose rows it must restore.
type pending struct {
	Declaration
	inForce  bool // the declaration is in force already
	replaces bool // it takes the place of another one, or of a change of its rows
	rows     rows
}

// pending returns the declarations that the worker must put in force.
func (e *Enforcer) pending(ctx context.Context, q db.Querier, w Worker, all bool) (due []pending, err error) {
	list, err := q.ListWorkerDeclarations(ctx, w.ID)
	if err != nil {
		return nil, err
	}
	newest := map[string]db.ListWorkerDeclarationsRow{}
	for _, r := range list {
		if r.Newest == 1 {
			newest[r.ID] = r
		}
	}
	rows, err := readRows(ctx, q)
	if err != nil {
		return nil, err
	}
	for _, d := range sorted(e.Declared) {
		r, there := newest[d.ID]
		if !there {
			continue
		}
		changed := false
		if r.InForce == 1 {
			if changed, err = e.changed(ctx, q, d, rows, all); err != nil {
				return nil, err
			}
		}
		if r.InForce == 0 || changed {
			inForce := r.InForce == 1
			due = append(due, pending{Declaration: d, inForce: inForce, replaces: inForce, rows: rows})
		}
	}
	return due, nil
}

// changed reports whether the rows of a declaration in force differ from it. Without all, it compares only the retention rule, which an
// older program may have replaced, and the limit of the whole kind or queue, which counts once people have deleted theirs.
func (e *Enforcer) changed(ctx context.Context, q db.Querier, d Declaration, rows rows, all bool) (bool, error) {
	if n, ok := d.limited(); ok && rows.limits.differs(n, d.whole) {
		return true, nil
	}
	switch rule := rows.ruleOf(d); {
	case d.Subject == SubjectKind && rule == nil:
		return all && d.hasRetention, nil
	case d.Subject == SubjectKind:
		return !d.hasRetention || core.Deref(rule.Keep) != core.Deref(d.keepFor), nil
	case d.Subject == SubjectQueue || !all:
		return false, nil
	}
	row, err := schedule.Get(ctx, q, d.Name)
	if errors.Is(err, jobtype.ErrNoSchedule) {
		return true, nil
	}
	return err == nil && schedule.Differs(&row, d.schedule), err
}

// change is a change of a row, for the log and the audit.
type change struct {
	message string
	attrs   []any
	entry   audit.Entry
	audited bool
	opens   bool // jobs that wait may start
}

// put puts the pending declarations in force, in one transaction.
func (e *Enforcer) put(ctx context.Context, w Worker, all bool) error {
	ctx = audit.With(ctx, w.Name)
	author, err := audit.Of(ctx)
	if err != nil {
		return err
	}
	var changes []change
	err = e.Scope.InsertWith(ctx, "", true, func(ctx context.Context, q db.Querier) (inserted bool, err error) {
		changes = nil
		var opens bool
		if _, err := q.LockDeclarations(ctx, w.ID); err != nil {
			return false, err
		}
		due, err := e.pending(ctx, q, w, all) // read again, under the locks
		if err != nil {
			return false, err
		}
		now := e.Scope.Now()
		var fired schedule.Fired
		for i := range due {
			p := &due[i]
			list, err := e.putOne(ctx, q, p, now, &fired)
			if err != nil {
				return false, fmt.Errorf("%s %s: %w", p.Subject, strconv.Quote(p.Name), err)
			}
			changes = append(changes, list...)
		}
		limits, err := putLimits(ctx, q, due) // at last: claims lock them after all else
		if err != nil {
			return false, err
		}
		changes = append(changes, limits...)
		for _, c := range changes {
			opens = opens || c.opens
			if c.audited {
				if err := author.Record(ctx, q, core.Micros(now), c.entry); err != nil {
					return false, err
				}
			}
		}
		return opens || len(fired.Jobs) > 0, lifecycle.CheckOpen(ctx, q)
	})
	if err != nil {
		return err
	}
	for _, c := range changes {
		e.Log.Info(c.message, append(c.attrs, "worker", w.Name)...)
	}
	return nil
}

// putOne puts one declaration in force, and writes the rows of its schedule or its retention rule.
func (e *Enforcer) putOne(ctx context.Context, q db.Querier, p *pending, now time.Time, fired *schedule.Fired) ([]change, error) {
	if !p.inForce {
		retired, err := q.RetireDeclaration(ctx, db.RetireDeclarationParams{Subject: p.Subject, Name: p.Name, ID: p.ID})
		if err != nil {
			return nil, err
		}
		p.replaces = retired > 0
		if _, err := q.EnforceDeclaration(ctx, p.ID); err != nil {
			return nil, err
		}
	}
	switch p.Subject {
	case SubjectKind:
		return putRule(ctx, q, p, now)
	case SubjectQueue:
		return nil, nil
	}
	row := p.schedule
	if err := schedule.Check(&row, now); err != nil {
		return nil, err
	}
	c, err := schedule.Put(ctx, q, row, now, fired)
	if err != nil || c.Before == nil && !p.inForce {
		return nil, err // the schedule or rule is new
	}
	if len(c.Before) == 0 && c.Before != nil {
		return nil, nil // only a fault was removed
	}
	detail, err := encode(c)
	return []change{{
		message: "the schedule is as the program declares it", attrs: []any{"schedule", p.Name, "change", detail},
		entry: audit.Entry{Action: jobtype.ActionSchedule, Kind: row.Kind, Queue: row.Queue, Detail: []byte(detail)}, audited: true,
	}}, err
}

func encode(v any) (string, error) { return core.Encode("detail", v) }
