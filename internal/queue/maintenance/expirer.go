package maintenance

import (
	"context"
	"fmt"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/internal/queue/refusal"
	"github.com/sqluice/sqluice/internal/queue/schedule"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// expireMost is the largest number of jobs that one transaction ends.
const expireMost = 500

// Expirer ends jobs that had to start by a time and were not started. Any number of Expirer values may work on one queue.
type Expirer struct {
	Store engine.Store
	Notes *refusal.Notes
	Ended func() // called after jobs were ended; optional
}

func (*Expirer) name() string { return "ending jobs that were not started in time" }

func (*Expirer) due(work db.GetScheduleWorkRow, now int64) bool {
	return work.StartBy != 0 && work.StartBy <= now
}

func (*Expirer) next(work db.GetScheduleWorkRow) []int64 { return []int64{work.StartBy} }

func (e *Expirer) run(ctx context.Context, _ schedule.Watch) error {
	_, err := e.Once(ctx)
	return err
}

// Once ends the jobs whose time has passed, and returns their number. It sets jobs aside that the database refuses to end, and ends all
// others.
func (e *Expirer) Once(ctx context.Context) (ended int, err error) {
	for {
		listed, done, err := e.some(ctx)
		if ended += done.ended; err != nil {
			return ended, fmt.Errorf("end jobs that were not started in time: %w", err)
		}
		if listed < expireMost || done.ended+done.aside == 0 { // the others are locked
			return ended, nil
		}
	}
}

// expired counts the ended and the set-aside jobs of a step.
type expired struct{ ended, aside int }

// some handles the most overdue jobs, and returns their number.
func (e *Expirer) some(ctx context.Context) (listed int, done expired, err error) {
	now := core.Micros(e.Store.Now())
	var ids []int64
	err = e.Store.Read(ctx, func(ctx context.Context, q db.Querier) (err error) {
		ids, err = q.ListOverdueJobIDs(ctx, db.ListOverdueJobIDsParams{Now: now, N: expireMost})
		return err
	})
	if err != nil {
		return 0, done, err
	}
	err = refusal.Split(ids, e.Store.RefusesRow, func(part []int64) error {
		n, err := e.end(ctx, now, part)
		done.ended += n
		return err
	}, func(id int64, err error) error {
		done.aside++
		return e.Notes.Postpone(ctx, e.Store.Write, e.Store.Now(), refusal.Expire, id, err)
	})
	return len(ids), done, err
}

// end ends jobs in one transaction.
func (e *Expirer) end(ctx context.Context, now int64, ids []int64) (int, error) {
	var ended []db.ExpireJobsRow
	var made *lifecycle.Transitions
	err := e.Store.Write(ctx, func(ctx context.Context, q db.Querier) (err error) {
		made = lifecycle.NewTransitions()
		if ended, err = lifecycle.Expire(ctx, q, now, ids, made); err != nil || len(ended) == 0 {
			return err
		}
		if err := made.Conclude(ctx, q, now); err != nil {
			return err
		}
		return lifecycle.CheckOpen(ctx, q)
	})
	if err != nil || len(ended) == 0 {
		return 0, err
	}
	e.tell(ended, made.Signals())
	return len(ended), nil
}

// tell reports ended jobs to the log, the observer and other processes.
func (e *Expirer) tell(ended []db.ExpireJobsRow, signals core.Signal) {
	e.Store.Announce(signals)
	if e.Ended != nil {
		e.Ended()
	}
	o := e.Store.Observer()
	if o == nil || o.Expired == nil {
		return
	}
	type name struct{ queue, kind string }
	jobs := map[name]int{}
	for _, job := range ended {
		jobs[name{job.Queue, job.Kind}]++
	}
	for n, count := range jobs {
		o.Expired(jobtype.Expired{Kind: n.kind, Queue: n.queue, Jobs: count})
	}
}
