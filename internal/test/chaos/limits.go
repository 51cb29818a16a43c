//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sqluice/sqluice/internal/test/history"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// laneLimits kills processes and stops them for a while, and restarts PostgreSQL's server, while jobs with limit keys are added and run, fail,
// and throttle their keys. No more jobs of a key, or of all keys together, run at once than their limits allow, no more start in any time, and
// jobs in order stay so, whatever process dies.
// Each end makes the jobs start that wait for it: no worker ever has to mend a lane, and no job is left waiting.
func laneLimits() lane {
	return lane{number: 17, name: "limits", engines: []string{onSQLite, onPostgres}, run: func(ctx context.Context, t *trial) error {
		l := &limiting{jobs: t.scaled(10_000), faults: max(10, t.scaled(100)), keys: max(8, t.scaled(100))}
		if t.long {
			*l = limiting{jobs: 20_000, faults: 200, keys: 200}
		}
		if t.engine != onPostgres {
			return onQueue(ctx, t, func(f *fleet) error { return l.run(ctx, f) })
		}
		return onServer(ctx, func(b *bench, server *testdb.Cluster) error {
			address := server.Database(b)
			store, err := openStore(ctx, address, nil)
			if err != nil {
				return err
			}
			l.restart = func() {
				server.Stop(b, "immediate")
				server.Start(b)
			}
			return withFleet(ctx, t, address, store, func(f *fleet) error { return l.run(ctx, f) })
		})
	}}
}

// The fleet of the lane.
const (
	limitWorkers   = 9
	limitEnqueuers = 3
	restartEach    = 40 // faults: then the server restarts as well
)

// limiting is one run of the lane.
type limiting struct {
	jobs, faults, keys int
	restart            func() // ends the server like a crash, and starts it; nil without a server
}

// limitKey returns the name of a limit key.
func limitKey(n int) string { return fmt.Sprint("key-", n) }

// declaredTotal is the largest number of jobs of all keys together that run at once. The workers have slots for more.
const declaredTotal = limitWorkers * killSlots / 6

// declaredLimit is the limit of the keys for which none is set.
var declaredLimit = jobs.LimitValues{Running: 2}

// limitOf returns the limit of a key.
func limitOf(n int) jobs.LimitValues {
	switch n % 5 {
	case 1:
		return jobs.LimitValues{Running: 1}
	case 2:
		return jobs.LimitValues{Rate: jobs.Per(1, 10*time.Millisecond), Burst: 3}
	case 3:
		return jobs.LimitValues{Running: 3, Rate: jobs.Per(1, 5*time.Millisecond), Burst: 5}
	case 4:
		return jobs.LimitValues{Ordered: true, OnFail: jobs.OnFailSkip}
	default:
		return declaredLimit
	}
}

// boundOf returns a limit as the checker takes it.
func boundOf(v jobs.LimitValues) history.Bound {
	b := history.Bound{Running: v.Running, Burst: v.Burst, Ordered: v.Ordered}
	if v.Ordered {
		b.Running = 1
	}
	if v.Rate.Starts > 0 {
		b.Every = v.Rate.Period / time.Duration(v.Rate.Starts)
	}
	return b
}

func (l *limiting) run(ctx context.Context, f *fleet) error {
	bounds := map[string]history.Bound{}
	for n := range l.keys {
		v := limitOf(n)
		bounds[limitKey(n)] = boundOf(v)
		if v == declaredLimit {
			continue
		}
		if err := f.client.SetLimit(ctx, kind, limitKey(n), v); err != nil {
			return err
		}
	}
	k := &killer{fleet: f, halted: map[*process]bool{}, back: make(chan *process, limitWorkers+limitEnqueuers), limitKeys: l.keys}
	if err := l.disturb(ctx, k); err != nil {
		return err
	}
	if err := f.endAll(ctx, k.enqueuers, k.workers); err != nil {
		return err
	}
	f.trial.count(0, l.faults)
	events, _, err := f.judge(ctx)
	if err != nil {
		return err
	}
	f.trial.find(tally{other: append(history.CheckLimits(events, bounds), history.CheckTotal(events, declaredTotal)...)})
	return l.checkLanes(ctx, f, events)
}

// disturb starts the processes, has the jobs added, and makes the faults.
func (l *limiting) disturb(ctx context.Context, k *killer) error {
	for range limitWorkers {
		if err := k.replace(nil); err != nil {
			return err
		}
	}
	for range limitEnqueuers {
		if err := k.replaceEnqueuer(nil); err != nil {
			return err
		}
	}
	random := k.trial.random
	for i := range l.faults {
		if err := k.ask(random.IntN(limitEnqueuers), (l.jobs+l.faults-1)/l.faults); err != nil {
			return err
		}
		time.Sleep(time.Duration(random.IntN(int(60 * time.Millisecond)))) // the time of the fault
		if i%restartEach == restartEach/2 && l.restart != nil {
			l.restart()
		}
		if err := k.fault(false); err != nil {
			return err
		}
		k.collect()
	}
	if err := k.resumeAll(); err != nil {
		return err
	}
	return k.topUp(ctx, l.jobs)
}

// mended is the text of a worker's log line about lanes that it had to mend.
const mended = "mended lanes of limits"

// checkLanes checks that nothing was or is wrong with the lanes.
func (l *limiting) checkLanes(ctx context.Context, f *fleet, events []history.Event) error {
	for _, p := range f.all {
		if n := p.stderr.count(mended); n > 0 {
			f.trial.find(tally{other: []string{fmt.Sprintf("%s had to mend lanes %d times", p.Name, n)}})
		}
	}
	found, err := inspect.New(f.client).RecountLanes(ctx)
	if err != nil {
		return err
	}
	if found.Added != 0 || found.Opened != 0 {
		f.trial.find(tally{other: []string{fmt.Sprintf("lanes were wrong: %+v", found)}})
	}
	limited := 0
	for _, e := range events {
		if e.Limit != nil {
			limited++
		}
	}
	if limited == 0 {
		return errors.New("no job with a limit key was started: faults of limits would not be seen")
	}
	return nil
}

// throttles returns the error of a handler that closes the key of its job for a moment, now and then.
func (p *player) throttles() error {
	if p.LimitKeys == 0 || p.number(50) > 0 {
		return nil
	}
	return jobs.Throttle(20 * time.Millisecond)
}
