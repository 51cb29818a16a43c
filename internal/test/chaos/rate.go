//go:build linux

package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/sqluice/sqluice/internal/test/history"
	"github.com/sqluice/sqluice/jobs"
)

// laneRate kills a worker every five seconds for a minute, while jobs of one key wait whose rate is bounded. In no time do more jobs start than
// the rate and the burst allow. The lane also says which share of the rate was used; in the long form it must be rateUsed.
func laneRate() lane {
	return lane{number: 18, name: "rate", engines: []string{onSQLite, onPostgres}, run: func(ctx context.Context, t *trial) error {
		return onQueue(ctx, t, func(f *fleet) error { return f.rated(ctx, t.scaled(rateKills)) })
	}}
}

const (
	rateKills   = 12
	rateEach    = 5 * time.Second // from one to the next
	rateWorkers = 4
	rateStarts  = 100 // in a second
	rateBurst   = 20
	rateUsed    = 0.95
)

// rated runs as many jobs as the rate allows in the time of the kills.
func (f *fleet) rated(ctx context.Context, kills int) error {
	v := jobs.LimitValues{Rate: jobs.Per(rateStarts, time.Second), Burst: rateBurst}
	if err := f.client.SetLimit(ctx, kind, limitKey(0), v); err != nil {
		return err
	}
	k := &killer{fleet: f, limitKeys: 1}
	if err := k.replaceEnqueuer(nil); err != nil {
		return err
	}
	n := int(time.Duration(kills)*rateEach/time.Second) * rateStarts
	if err := k.ask(0, n); err != nil {
		return err
	}
	k.limitKeys = 0 // no handler fails or closes the key
	for range rateWorkers {
		if err := k.replace(nil); err != nil {
			return err
		}
	}
	for range kills {
		time.Sleep(rateEach) // the time of the fault
		p := k.workers[f.trial.random.IntN(rateWorkers)]
		if err := k.kill(p); err != nil {
			return err
		}
		if err := k.replace(p); err != nil {
			return err
		}
	}
	if err := f.endAll(ctx, k.enqueuers, k.workers); err != nil {
		return err
	}
	f.trial.count(0, kills)
	events, _, err := f.judge(ctx)
	if err != nil {
		return err
	}
	f.trial.find(tally{other: history.CheckLimits(events, map[string]history.Bound{limitKey(0): boundOf(v)})})
	return f.usedRate(events)
}

// usedRate says which share of the rate the starts have used.
func (f *fleet) usedRate(events []history.Event) error {
	starts := slices.DeleteFunc(slices.Clone(events), func(e history.Event) bool { return e.What != history.Start })
	if len(starts) < 2 {
		return fmt.Errorf("%d jobs were started", len(starts))
	}
	by := func(a, b history.Event) int { return cmp.Compare(a.Claimed, b.Claimed) }
	took := time.Duration(slices.MaxFunc(starts, by).Claimed-slices.MinFunc(starts, by).Claimed) * time.Microsecond
	used := float64(len(starts)-rateBurst) / took.Seconds() / rateStarts
	f.trial.say("%d starts in %s used %.3f of the rate", len(starts), took.Round(time.Millisecond), used)
	if f.trial.long && used < rateUsed {
		f.trial.find(tally{other: []string{fmt.Sprintf("%.3f of the rate were used, not %.2f", used, rateUsed)}})
	}
	return nil
}
