package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

var limitMendedTests = []test{
	{"AnEndInATransactionWakes", testLimitCompleteTx},
	{"AnEndThatIsRolledBackKeepsTheRoom", testLimitRolledBack},
	{"ADeletedRunningJobFreesItsRoom", testLimitDeletedRunning},
	{"WaitingByPlainSQL", testLimitPlainWaiting},
	{"RecountLanes", testRecountLanes},
	{"RecountOfManyLanes", testRecountManyLanes},
	{"ADeclaredLimitThatIsRaised", testLimitDeclaredRaised},
	{"HundredKeysBesideOne", testLimitHundredKeys},
	{"AKindWithoutAWorkerBlocksNoKey", testLimitUnservedKind},
	{"AfterDowntime", testLimitAfterDowntime},
	{"ALaneWithoutAJobSpendsNothing", testLimitNoStart},
}

// oneAtATime is a limit of one job of a key at once.
var oneAtATime = jobs.Limit[string]{Running: 1}

// recountLanes mends the lanes, and checks the numbers of the wrong ones.
func (f *fixture) recountLanes(want inspect.Lanes) {
	f.Helper()
	found, err := inspect.New(f.client).RecountLanes(f.ctx)
	f.must(err)
	if found != want {
		f.Errorf("the wrong lanes are %+v, not %+v", found, want)
	}
}

// The end of a job in its handler's transaction lets the next job of the key start after the commit, while the handler still runs. A drain
// has no other service that makes lanes ready.
func testLimitCompleteTx(f *fixture) {
	kind := tenants(oneAtATime)
	ids := f.addTenants(kind, []string{"t", "t"})
	second := make(chan struct{})
	f.drain(jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 2}}, onTenants(kind, func(ctx context.Context, job jobs.Job, _ string) error {
		if job.ID == ids[1] {
			close(second)
			return nil
		}
		f.eventually("the lane waits for an end", func() bool { return f.sql("count_parked_lanes")[0] == 1 })
		err := f.inTx(func(tx Tx) error { return jobs.CompleteTx(ctx, tx, job, nil) })
		receive(f, "the second job", second)
		return err
	}))
	for _, id := range ids {
		want(f, "status", f.get(id).Status, jobs.StatusDone)
	}
}

// The end of a job in a transaction that is rolled back starts no job of the key before the handler returns.
func testLimitRolledBack(f *fixture) {
	kind, starts := tenants(oneAtATime), newStarts()
	ids := f.addTenants(kind, []string{"t", "t"})
	no := errors.New("no")
	f.drain(jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 2}}, onTenants(kind, func(ctx context.Context, job jobs.Job, _ string) error {
		defer starts.begin("t")()
		if job.ID == ids[0] && job.Attempt == 1 {
			err := f.inTx(func(tx Tx) error { return errors.Join(jobs.CompleteTx(ctx, tx, job, nil), no) })
			want(f, "the error of the transaction", errors.Is(err, no), true)
			return err
		}
		return nil
	}))
	want(f, "the largest number at once", starts.most["t"], 1)
	want(f, "attempts", f.get(ids[0]).Attempt, 2)
	for _, id := range ids {
		want(f, "status", f.get(id).Status, jobs.StatusDone)
	}
}

// A plain DELETE of a running job frees its room: the next job of the key starts though no end is recorded.
func testLimitDeletedRunning(f *fixture) {
	kind := tenants(oneAtATime)
	began, second := make(chan struct{}), make(chan struct{})
	ids := f.addTenants(kind, []string{"t", "t"})
	f.start(jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 2}}, onTenants(kind, func(_ context.Context, job jobs.Job, _ string) error {
		if job.ID == ids[0] {
			close(began)
			receive(f, "the second job", second)
			return nil
		}
		close(second)
		return nil
	}))
	receive(f, "the first job", began)
	f.eventually("the lane waits for an end", func() bool { return f.sql("count_parked_lanes")[0] == 1 })
	f.sql("delete_running")
	want(f, "status", f.ended(ids[1]).Status, jobs.StatusDone)
}

// A waiting job that plain SQL adds gets a lane when a worker starts.
func testLimitPlainWaiting(f *fixture) {
	id := f.sql("insert_waiting", "KEY", "t")[0]
	want(f, "lanes", f.sql("count_lanes")[0], 0)
	f.start(jobs.Config{}, on("k", nothing))
	want(f, "status", f.ended(id).Status, jobs.StatusDone)
}

// A recount adds the lane that a waiting job lacks, makes a parked lane ready whose key has room, and removes one without a waiting job.
func testRecountLanes(f *fixture) {
	kind := tenants(oneAtATime)
	release, began := make(chan struct{}), make(chan struct{}, 3)
	r := f.start(jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 4}}, onTenants(kind, func(context.Context, jobs.Job, string) error {
		began <- struct{}{}
		<-release
		return nil
	}))
	busy := f.addTenants(kind, []string{"busy", "gone", "free"})
	for range busy {
		receive(f, "a job", began)
	}
	waiting := f.addTenants(kind, []string{"busy", "gone", "free"})
	f.eventually("the lanes wait for ends", func() bool { return f.sql("count_parked_lanes")[0] == 3 })
	close(release)
	for _, id := range waiting {
		receive(f, "a job", began)
		f.ended(id)
	}
	f.must(r.stop())
	f.sql("insert_waiting", "KEY", "free")
	f.sql("insert_waiting", "KEY", "more")
	gone := f.sql("insert_waiting", "KEY", "gone")[0]
	f.recountLanes(inspect.Lanes{Added: 3})
	f.sql("park_lanes")
	f.sql("delete_one", "JOB", fmt.Sprint(gone))
	f.recountLanes(inspect.Lanes{Opened: 3, Removed: 1})
	f.recountLanes(inspect.Lanes{})
	want(f, "lanes", f.sql("count_lanes")[0], 2)
	want(f, "parked lanes", f.sql("count_parked_lanes")[0], 0)
}

// A recount reads more lanes than fit into one of its steps.
func testRecountManyLanes(f *fixture) {
	const keys = 2500
	f.sql("insert_many_waiting", "HOW_MANY", fmt.Sprint(keys))
	f.recountLanes(inspect.Lanes{Added: keys})
	f.sql("park_lanes")
	f.recountLanes(inspect.Lanes{Opened: keys})
	f.sql("delete_all")
	f.recountLanes(inspect.Lanes{Removed: keys})
}

// A limit that a newer program declares lets waiting jobs start, though none of the key ends.
func testLimitDeclaredRaised(f *fixture) {
	kind := tenants(oneAtATime)
	began, release := make(chan int64, 3), make(chan struct{})
	defer close(release)
	run := func(_ context.Context, job jobs.Job, _ string) error {
		began <- job.ID
		<-release
		return nil
	}
	f.start(jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 2}}, onTenants(kind, run))
	f.addTenants(kind, []string{"t", "t"})
	receive(f, "the first job", began)
	f.eventually("the lane waits for an end", func() bool { return f.sql("count_parked_lanes")[0] == 1 })
	kind.Limit.Running = 2
	f.startOn(f.elsewhere(), jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 2}}, onTenants(kind, run))
	receive(f, "the second job", began)
}

// Of a hundred keys with one job each the last one starts among the first starts beside a key with many jobs.
func testLimitHundredKeys(f *fixture) {
	const slots, others, many = 4, 100, 1000
	kind, starts := tenants(jobs.Limit[string]{Running: many}), newStarts()
	f.addTenants(kind, slices.Repeat([]string{"big"}, many))
	var list []string
	for i := range others {
		list = append(list, fmt.Sprint("small", i))
	}
	f.addTenants(kind, list)
	f.drain(jobs.Config{Queues: map[string]int{jobs.DefaultQueue: slots}}, onTenants(kind, func(_ context.Context, _ jobs.Job, tenant string) error {
		starts.begin(tenant)()
		return nil
	}))
	want(f, "starts", len(starts.list), many+others)
	last := 0
	for i, tenant := range starts.list {
		if tenant != "big" {
			last = i + 1
		}
	}
	if most := 1 + others + slots; last > most {
		f.Errorf("the last single job was start %d, not one of the first %d", last, most)
	}
}

// Waiting jobs of a kind that no worker runs leave the room of a key of the same name to others.
func testLimitUnservedKind(f *fixture) {
	kind, unserved := tenants(oneAtATime), tenants(oneAtATime)
	unserved.Name = "unserved"
	left := f.addTenants(unserved, []string{"t", "t", "t"}, jobs.Priority(9))
	ids := f.addTenants(kind, []string{"t", "t", "t"})
	f.start(jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 2}}, onTenants(kind, func(context.Context, jobs.Job, string) error { return nil }))
	for _, id := range ids {
		want(f, "status", f.ended(id).Status, jobs.StatusDone)
	}
	for _, id := range left {
		want(f, "status of a job without a worker", f.get(id).Status, jobs.StatusWaiting)
	}
}

// After a time without workers the backlog starts no faster than the rate allows, with one burst.
func testLimitAfterDowntime(f *fixture) {
	const burst, n, per = 3, 15, 20 * time.Millisecond
	kind := tenants(jobs.Limit[string]{Rate: jobs.Per(1, per), Burst: burst})
	run := func() (times []time.Time) {
		f.Helper()
		ids := f.addTenants(kind, slices.Repeat([]string{"t"}, n))
		f.drain(jobs.Config{Queues: map[string]int{jobs.DefaultQueue: n}}, onTenants(kind, func(context.Context, jobs.Job, string) error { return nil }))
		for _, id := range ids {
			times = append(times, f.get(id).StartedAt)
		}
		slices.SortFunc(times, time.Time.Compare)
		return times
	}
	run()
	f.sql("forget_starts") // as after a time in which all tokens have come back
	for i, times := 0, run(); i < n; i++ {
		for j := i; j < n; j++ {
			if most := int(times[j].Sub(times[i])/per) + burst; j-i+1 > most {
				f.Fatalf("%d starts in %s", j-i+1, times[j].Sub(times[i]))
			}
		}
	}
}

// A claim that finds no job in a ready lane spends nothing of its rate, also where the claim before found all that it looked for.
func testLimitNoStart(f *fixture) {
	kind := tenants(jobs.Limit[string]{Rate: jobs.Per(1, time.Hour), Burst: 2})
	f.start(jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 2}}, onTenants(kind, func(context.Context, jobs.Job, string) error { return nil }))
	paused := func(pause bool) {
		f.Helper()
		var err error
		if pause {
			_, err = f.client.PauseQueue(f.ctx, jobs.DefaultQueue)
		} else {
			_, err = f.client.ResumeQueue(f.ctx, jobs.DefaultQueue)
		}
		f.must(err)
	}
	waiting := func(tenants ...string) []int64 {
		f.Helper()
		paused(true)
		ids := f.addTenants(kind, tenants)
		for _, id := range ids {
			f.eventually("the job waits", func() bool { return f.get(id).Status == jobs.StatusWaiting })
		}
		return ids
	}
	first := waiting("a", "a")
	paused(false)
	f.ended(first[1])
	second := waiting("b", "c")
	f.sql("delete_one", "JOB", fmt.Sprint(second[1]))
	paused(false)
	f.ended(second[0])
	for _, id := range f.addTenants(kind, []string{"c", "c"}) {
		want(f, "status", f.ended(id).Status, jobs.StatusDone)
	}
}
