package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

var countsTests = []test{
	{"EveryWayToEnd", testCountsEveryWay},
	{"TransactionsThatAreRolledBack", testCountsRolledBack},
	{"EndedByARescueMeanwhile", testCountsRescued},
	{"AtRandom", testCountsAtRandom},
	{"Recount", testRecount},
	{"RecountBesideWrites", testRecountBesideWrites},
	{"History", testHistory},
	{"HistoryOfQueueAndKind", testHistoryFilter},
	{"HistoriesOfQueues", testHistories},
	{"HistoryFaults", testHistoryFaults},
	{"HistoryIsBounded", testHistoryKept},
	{"HistoryOfManyNames", testHistoryOfManyNames},
	{"HistoryIsKeptAsSet", testHistoryKeptAsSet},
}

// wantCounts compares the counts with the list of all jobs.
func (f *fixture) wantCounts() {
	f.Helper()
	type key struct {
		queue, kind string
		status      jobs.Status
	}
	want := map[key]int64{}
	for page := (inspect.Filter{Limit: inspect.MaxPage}); ; {
		list, err := inspect.New(f.client).List(f.ctx, page)
		f.must(err)
		for _, job := range list {
			want[key{job.Queue, job.Kind, job.Status}]++
			page.After = job.ID
		}
		if len(list) == 0 {
			break
		}
	}
	counts, err := inspect.New(f.client).Counts(f.ctx)
	f.must(err)
	for _, n := range counts {
		k := key{n.Queue, n.Kind, n.Status}
		if n.Jobs != want[k] {
			f.Errorf("the count of %v is %d, not %d", k, n.Jobs, want[k])
		}
		delete(want, k)
	}
	for k, n := range want {
		f.Errorf("there is no count of %v, which are %d", k, n)
	}
}

func testCountsEveryWay(f *fixture) {
	release := make(chan struct{})
	begun := make(chan struct{}, 2)
	handles := []handle{
		on("done", nothing),
		on("result", func(_ context.Context, job jobs.Job) error { return job.SetResult(1) }),
		on("large", func(_ context.Context, job jobs.Job) error { return job.SetResult(strings.Repeat("x", 64<<10)) }),
		on("tx", func(ctx context.Context, job jobs.Job) error {
			tx, err := f.store.Begin(ctx)
			if err != nil {
				return err
			}
			return errors.Join(jobs.CompleteTx(ctx, tx, job, nil), tx.Commit())
		}),
		onKind(again("twice"), func(_ context.Context, job jobs.Job) error {
			if job.Attempt == 1 {
				return errors.New("the first time")
			}
			return nil
		}),
		on("later", func(context.Context, jobs.Job) error { return jobs.Snooze(time.Hour) }),
		on("fails", func(context.Context, jobs.Job) error { return jobs.Discard(errors.New("for good")) }),
		on("cancels", func(context.Context, jobs.Job) error { return jobs.Cancel(nil) }),
		on("cancelled", func(ctx context.Context, _ jobs.Job) error {
			begun <- struct{}{}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-release:
				return nil
			}
		}),
	}
	for range 2 {
		for _, kind := range []string{"done", "result", "large", "tx", "twice", "later", "fails", "cancels"} {
			f.enqueue(kind)
		}
	}
	f.drain(jobs.Config{}, handles...)
	f.wantCounts()

	run := f.start(jobs.Config{}, handles...)
	stopped, goesOn := f.enqueue("cancelled"), f.enqueue("cancelled")
	receive(f, "a handler", begun)
	receive(f, "a handler", begun)
	_, err := f.client.Cancel(f.ctx, stopped)
	f.must(err)
	want(f, "the status", f.ended(stopped).Status, jobs.StatusCancelled)
	close(release)
	f.ended(goesOn)
	f.must(run.stop())
	f.wantCounts()

	waiting, due := f.enqueue("waiting", jobs.In(time.Hour)), f.enqueue("waiting")
	for _, id := range []int64{waiting, due} {
		_, err := f.client.Cancel(f.ctx, id)
		f.must(err)
	}
	f.wantCounts()
	f.must(f.client.Retry(f.ctx, waiting))
	f.must(f.client.Retry(f.ctx, stopped))
	f.wantCounts()
	f.must(f.client.Delete(f.ctx, waiting))
	f.must(f.client.Delete(f.ctx, due))
	n, err := inspect.New(f.client).RetryFailed(f.ctx, inspect.FailedFilter{})
	f.must(err)
	want(f, "retried", n, 2)
	f.wantCounts()
	f.drain(jobs.Config{}, handles...)
	f.wantCounts()
	for _, status := range []jobs.Status{jobs.StatusDone, jobs.StatusFailed, jobs.StatusCancelled} {
		_, err := inspect.New(f.client).Prune(f.ctx, status, 0)
		f.must(err)
		f.wantCounts()
	}
}

func testCountsRolledBack(f *fixture) {
	f.enqueue("k")
	f.drain(jobs.Config{}, on("k", func(ctx context.Context, job jobs.Job) error {
		tx, err := f.store.Begin(ctx)
		if err != nil {
			return err
		}
		return errors.Join(jobs.CompleteTx(ctx, tx, job, nil), tx.Rollback())
	}))
	f.wantCounts()
}

// A job that a rescue has ended is not counted again when the handler returns, although the row still has its attempt
// and worker.
func testCountsRescued(f *fixture) {
	id := f.enqueue("k", jobs.MaxAttempts(1))
	begun, release := make(chan struct{}), make(chan struct{})
	run := f.start(jobs.Config{}, on("k", func(context.Context, jobs.Job) error {
		close(begun)
		<-release
		return nil
	}))
	receive(f, "the handler", begun)
	f.write(func(ctx context.Context, q db.Querier) error {
		now := f.store.Now()
		params := db.RecordStuckJobsParams{Now: now.UnixMicro(), LeaseBefore: now.Add(time.Hour).UnixMicro()}
		if n, err := q.RecordStuckJobs(ctx, params); err != nil || n != 1 {
			return errors.Join(err, errors.New("the job is not stuck"))
		}
		ended, err := q.EndStuckJobs(ctx, db.EndStuckJobsParams{Now: now.UnixMicro(), DefaultAttempts: jobs.DefaultMaxAttempts, MaxCrashes: 3})
		if err != nil || len(ended) != 1 || ended[0].Status != string(jobs.StatusFailed) {
			return errors.Join(err, errors.New("the job is not failed"))
		}
		_, err = q.RecountJobs(ctx, now.UnixMicro())
		return err
	})
	close(release)
	f.must(run.stop())
	want(f, "the status", f.get(id).Status, jobs.StatusFailed)
	f.wantCounts()
}

// Several clients and runners, of which some add up counts meanwhile, make random changes.
func testCountsAtRandom(f *fixture) {
	random := rand.New(rand.NewPCG(uint64(len(f.Name())), 1))
	fate := func(context.Context, jobs.Job) error { return nil }
	fates := []func(context.Context, jobs.Job) error{
		fate, fate,
		func(context.Context, jobs.Job) error { return errors.New("again") },
		func(context.Context, jobs.Job) error { return jobs.Discard(errors.New("never")) },
		func(context.Context, jobs.Job) error { return jobs.Cancel(nil) },
		func(context.Context, jobs.Job) error { panic("now") },
	}
	handles := []handle{
		onKind(again("a"), func(ctx context.Context, job jobs.Job) error { return fates[job.ID%6](ctx, job) }),
		onKind(again("b"), func(ctx context.Context, job jobs.Job) error { return fates[(job.ID+int64(job.Attempt))%6](ctx, job) }),
	}
	config := jobs.Config{Queues: map[string]int{"default": 3, "other": 2}}
	elsewhere := f.elsewhere()
	var ids []int64
	for range 4 {
		for range 30 {
			kind := []string{"a", "b"}[random.IntN(2)]
			ids = append(ids, f.enqueue(kind, jobs.Queue([]string{"default", "other"}[random.IntN(2)]), jobs.MaxAttempts(2)))
		}
		one, two := f.start(config, handles...), f.startOn(elsewhere, config, handles...)
		for range 60 {
			id := ids[random.IntN(len(ids))]
			var err error
			switch random.IntN(3) {
			case 0:
				err = f.client.Retry(f.ctx, id)
			case 1:
				_, err = elsewhere.Cancel(f.ctx, id)
			case 2:
				err = elsewhere.Delete(f.ctx, id)
			}
			if err != nil && !errors.Is(err, jobs.ErrStatus) && !errors.Is(err, jobs.ErrNotFound) {
				f.Fatal(err)
			}
		}
		f.must(one.stop())
		f.must(two.stop())
		f.wantCounts()
	}
}

func testHistory(f *fixture) {
	for range 3 {
		f.enqueue("done")
	}
	f.enqueue("fails")
	f.enqueue("twice")
	f.enqueue("cancels")
	before := f.store.Now()
	f.drain(jobs.Config{}, on("done", nothing),
		on("fails", func(context.Context, jobs.Job) error { return jobs.Discard(errors.New("for good")) }),
		on("cancels", func(context.Context, jobs.Job) error { return jobs.Cancel(nil) }),
		onKind(again("twice"), func(_ context.Context, job jobs.Job) error {
			if job.Attempt == 1 {
				return errors.New("the first time")
			}
			return nil
		}))
	f.must(f.client.Delete(f.ctx, 1)) // history outlives jobs
	for _, filter := range []inspect.HistoryFilter{
		{}, {Step: 5 * time.Minute}, {Step: time.Hour, Since: before.Add(-24 * time.Hour)}, {Since: before.Add(-24 * time.Hour)},
	} {
		h, err := inspect.New(f.client).History(f.ctx, filter)
		f.must(err)
		t := h.Total
		want(f, "done", t.Done, 4)
		want(f, "failed", t.Failed, 1)
		want(f, "cancelled", t.Cancelled, 1)
		want(f, "retried", t.Retried, 1)
		want(f, "crashed", t.Crashed, 0)
		want(f, "waits", t.Wait.Jobs, 7)
		want(f, "runs", t.Run.Jobs, 7)
		if t.Wait.P50 <= 0 || t.Wait.P50 > t.Wait.P90 || t.Wait.P90 > t.Wait.P99 {
			f.Errorf("the waits are %+v", t.Wait)
		}
		var sum int64
		for i, step := range h.Intervals {
			sum += step.Done
			if i > 0 && !step.Start.Equal(h.Intervals[i-1].Start.Add(h.Step)) {
				f.Errorf("the step after %s begins at %s", h.Intervals[i-1].Start, step.Start)
			}
		}
		want(f, "done in all steps", sum, 4)
	}
}

func testHistoryFilter(f *fixture) {
	f.enqueue("k", jobs.Queue("a"))
	f.enqueue("k", jobs.Queue("b"))
	f.enqueue("l", jobs.Queue("b"))
	f.drain(jobs.Config{Queues: map[string]int{"a": 1, "b": 1}}, on("k", nothing), on("l", nothing))
	for filter, done := range map[inspect.HistoryFilter]int64{
		{Queue: "b"}: 2, {Kind: "k"}: 2, {Queue: "b", Kind: "k"}: 1, {Queue: "c"}: 0,
	} {
		h, err := inspect.New(f.client).History(f.ctx, filter)
		f.must(err)
		want(f, "done", h.Total.Done, done)
		want(f, "runs", h.Total.Run.Jobs, done)
	}
}

// The history of several queues equals that of each, and an empty name stands for all, before and after it was added
// up.
func testHistories(f *fixture) {
	queues := map[string]int{"a": 1, "b": 1, "<c>": 1}
	for queue := range queues {
		f.enqueue("k", jobs.Queue(queue))
	}
	f.enqueue("l", jobs.Queue("b"))
	f.drain(jobs.Config{Queues: queues}, on("k", nothing), on("l", nothing))
	check := func(when string, ended map[string]int64, filter inspect.HistoryFilter) {
		f.Helper()
		names := []string{"b", "", "<c>", "nobody", "b"}
		list, err := inspect.New(f.client).Histories(f.ctx, filter, names...)
		f.must(err)
		for i, name := range names {
			one, err := inspect.New(f.client).History(f.ctx, inspect.HistoryFilter{Queue: name, Kind: filter.Kind, Step: filter.Step, Since: filter.Since, Until: filter.Until})
			f.must(err)
			if !reflect.DeepEqual(list[i], one) {
				f.Errorf("%s: the history of %q among others is %+v, by itself %+v", when, name, list[i].Total, one.Total)
			}
			want(f, when+": ended in "+name, one.Total.Done+one.Total.Cancelled, ended[name])
		}
	}
	now := f.store.Now()
	hour := inspect.HistoryFilter{Since: now.Add(-time.Hour), Until: now.Add(time.Hour)}
	month := inspect.HistoryFilter{Since: now.Add(-30 * 24 * time.Hour), Until: now.Add(time.Hour), Step: time.Hour}
	check("added up", map[string]int64{"": 4, "b": 2, "<c>": 1}, hour)
	check("added up by the hour", map[string]int64{"": 4, "b": 2, "<c>": 1}, month)
	_, err := f.client.Cancel(f.ctx, f.enqueue("k", jobs.Queue("b")))
	f.must(err)
	check("noted", map[string]int64{"": 5, "b": 3, "<c>": 1}, hour)
	check("noted, by the hour", map[string]int64{"": 5, "b": 3, "<c>": 1}, month)
	hour.Kind = "k"
	check("of a kind", map[string]int64{"": 4, "b": 2, "<c>": 1}, hour)
	list, err := inspect.New(f.client).Histories(f.ctx, hour)
	f.must(err)
	want(f, "histories of no queue", len(list), 0)
	list, err = inspect.New(f.client).Histories(f.ctx, hour, "a\n", "\x00", "\xff") // which other programs may have made
	f.must(err)
	for i, h := range list {
		want(f, "jobs of a queue that no engine can name", h.Total.Done, 0)
		want(f, "intervals", len(list[i].Intervals), len(list[0].Intervals))
	}
}

func testHistoryFaults(f *fixture) {
	now := f.store.Now()
	for field, filter := range map[string]inspect.HistoryFilter{
		"step":  {Step: time.Second},
		"since": {Since: now, Until: now},
		"Since": {Since: now.Add(time.Hour)},
		"STEP":  {Since: now.Add(-365 * 24 * time.Hour), Step: time.Minute},
		"SINCE": {Since: now.Add(-1000000 * time.Hour)},
		"Step":  {Step: -time.Minute},
		"sTEP":  {Since: time.Unix(0, 0), Until: time.Unix(0, 0).AddDate(330, 0, 0), Step: 30 * 24 * time.Hour},
		"stEP":  {Step: 31 * 24 * time.Hour},
		"queue": {Queue: "\x00"},
		"kind":  {Kind: "\xff"},
	} {
		var invalid *jobs.InvalidError
		_, err := inspect.New(f.client).History(f.ctx, filter)
		if !errors.As(err, &invalid) || invalid.Field != strings.ToLower(field) {
			f.Errorf("the error for %+v is %v", filter, err)
		}
	}
}

// historyRows counts the rows of the history.
func (f *fixture) historyRows() int64 {
	f.Helper()
	return f.sql("count_history")[0]
}

func testHistoryOfManyNames(f *fixture) {
	const names, most = 300, 10
	config := jobs.Config{Queues: map[string]int{}, HistoryNames: most}
	for i := range names {
		config.Queues[nameOfMany(i)] = 10
	}
	// The runner stops before it adds up for the first time, which takes it five seconds: all names come together.
	f.fillEach("k", "queue-%d", names)
	payloads := make([]json.RawMessage, 20)
	for i := range payloads {
		payloads[i] = json.RawMessage("{}")
	}
	_, err := f.client.EnqueueMany(f.ctx, "k", payloads, jobs.Queue(nameOfMany(7)))
	f.must(err)
	f.drain(config, on("k", nothing))
	few := f.historyRows()
	// Each name has rows in two steps of time, or four where the quarter of an hour ends: of its event, and of some durations.
	if bound := int64(4 * 3 * (most + 1) * 24); few > bound {
		f.Errorf("the history of %d queues has %d rows, more than %d", names, few, bound)
	}
	done := func(filter inspect.HistoryFilter) int64 {
		h, err := inspect.New(f.client).History(f.ctx, filter)
		f.must(err)
		return h.Total.Done
	}
	want(f, "done in all queues", done(inspect.HistoryFilter{}), names+20)
	want(f, "done of the kind", done(inspect.HistoryFilter{Kind: "k"}), names+20)
	want(f, "done in the queue with the most jobs", done(inspect.HistoryFilter{Queue: nameOfMany(7)}), 21)
	want(f, "done of the kind in that queue", done(inspect.HistoryFilter{Queue: nameOfMany(7), Kind: "k"}), 21)
	want(f, "done in the other queues", done(inspect.HistoryFilter{Queue: "_other"}), names-most)
	want(f, "done in them, of other kinds", done(inspect.HistoryFilter{Queue: "_other", Kind: "_other"}), names-most)

	// Another runner finds no room for others, and adds to the same names.
	f.fillEach("k", "queue-%d", names)
	f.drain(config, on("k", nothing))
	want(f, "done in all queues", done(inspect.HistoryFilter{}), 2*names+20)
	want(f, "done in the queue with the most jobs", done(inspect.HistoryFilter{Queue: nameOfMany(7)}), 22)
	if bound := int64(4 * 3 * (most + 1) * 24); f.historyRows() > bound {
		f.Errorf("afterwards it has %d rows, more than %d", f.historyRows(), bound)
	}
}

// testHistoryKeptAsSet waits for the first pruning of a runner, which comes within its first minute.
func testHistoryKeptAsSet(f *fixture) {
	if testing.Short() {
		f.Skip("waits for up to a minute")
	}
	now := f.store.Now()
	f.write(func(ctx context.Context, q db.Querier) error {
		for _, age := range []time.Duration{time.Minute, 3 * time.Hour, 3 * 24 * time.Hour} {
			at := now.Add(-age).UnixMicro()
			if err := q.AddJobChanges(ctx, db.AddJobChangesParams{At: at, Items: `[["q", "k", "done", 1, 0]]`}); err != nil {
				return err
			}
		}
		return nil
	})
	f.drain(jobs.Config{}, on("k", nothing)) // adds up
	before := f.historyRows()
	f.start(jobs.Config{Retention: jobs.Retention{History: 48 * time.Hour, Minutes: time.Hour}}, on("k", nothing))
	// The minute and the quarter of an hour of the oldest step go, and the minute of the one after it; each has four rows.
	f.eventually("what is older than set is removed", func() bool { return f.historyRows() == before-3*4 })
}

// Steps that are too old are removed with the jobs of that age.
func testHistoryKept(f *fixture) {
	now := f.store.Now()
	f.write(func(ctx context.Context, q db.Querier) error {
		for _, age := range []time.Duration{time.Minute, 7 * time.Hour, 31 * 24 * time.Hour} {
			at := now.Add(-age).UnixMicro()
			err := q.AddJobChanges(ctx, db.AddJobChangesParams{At: at, Items: `[["q", "k", "done", 1, 0]]`})
			if err != nil {
				return err
			}
		}
		return nil
	})
	f.drain(jobs.Config{}, on("k", nothing)) // adds up
	done := func(filter inspect.HistoryFilter) int64 {
		h, err := inspect.New(f.client).History(f.ctx, filter)
		f.must(err)
		return h.Total.Done
	}
	month := inspect.HistoryFilter{Since: now.Add(-40 * 24 * time.Hour), Step: time.Hour}
	day := inspect.HistoryFilter{Since: now.Add(-24 * time.Hour), Step: time.Minute}
	want(f, "done in 40 days", done(month), 3)
	want(f, "done in a day, by the minute", done(day), 2)
	f.must(inspect.New(f.client).PruneHistory(f.ctx))
	want(f, "done in 40 days", done(month), 2)
	want(f, "done in a day, by the minute", done(day), 1)
}
