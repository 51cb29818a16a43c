package costs

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/sqluice/sqluice/db"
	port "github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
)

// engine is the part of a database that the tests need to measure the same on both.
type engine struct {
	name      string
	lab       func(*testing.T) *lab
	claim     func(t *testing.T, besides ...string) []figure // the reads of each statement of a cycle, beside such rows
	logMore   float64                                        // 0: the log is the same each time
	claimMore float64                                        // 0: the pages are the same each time
	another   bool                                           // version than that of the golden files
}

// lab is a migrated database for one figure.
type lab struct {
	store   *watched
	client  *jobs.Client
	logged  func(*testing.T) int64   // bytes in the write-ahead log
	keepLog func(*testing.T)         // prevents removal from it; may be nil
	crashed func(*testing.T, func()) // makes jobs that are enqueued in the function look as if they had crashed once
}

func newLab(store jobs.Store, trips func() int64) *lab {
	w := &watched{Store: port.StoreOf(store), trips: trips}
	return &lab{store: w, client: jobs.New(port.SealStore(w))}
}

// many is the number of jobs that are enqueued at once.
const many = 1000

func measure(t *testing.T, e engine) {
	t.Run("statements", func(t *testing.T) { hold(t, e.name+".statements.txt", func() *figures { return statements(t, e) }) })
	t.Run("sensitive", func(t *testing.T) { sensitive(t, e) })
	t.Run("log", func(t *testing.T) {
		e.mustBeGolden(t)
		hold(t, e.name+".log.txt", func() *figures { return logs(t, e) })
	})
	t.Run("claim", func(t *testing.T) {
		e.mustBeGolden(t)
		if raced {
			t.Skip("the race detector finds nothing in it, and it takes long")
		}
		hold(t, e.name+".claim.txt", func() *figures { return claims(t, e) })
	})
	t.Run("memory", func(t *testing.T) {
		if raced {
			t.Skip("the race detector allocates memory too")
		}
		hold(t, e.name+".memory.txt", func() *figures { return memory(t, e) })
	})
	t.Run("bulk", func(t *testing.T) {
		if raced {
			t.Skip("the race detector allocates memory too")
		}
		bulkMemory(t, e)
	})
}

// mustBeGolden skips figures for one version of the engine where there is another. CI must have that version.
func (e engine) mustBeGolden(t *testing.T) {
	t.Helper()
	switch {
	case e.another && os.Getenv("CI") == "true":
		t.Fatalf("the golden figures are those of PostgreSQL %d, which CI must have", goldenPostgres)
	case e.another:
		t.Skipf("NOT TESTED on this PostgreSQL: the golden figures are those of %d", goldenPostgres)
	}
}

// statements counts transactions, reads outside of one, the statements in both, and the round trips that they take.
func statements(t *testing.T, e engine) *figures {
	t.Helper()
	f := new(figures)
	l := e.lab(t)
	enqueueOne(t, l, 1) // the first one also connects, and has statements prepared
	l.store.take()
	const enqueues = 20
	enqueueOne(t, l, enqueues)
	f.count(fmt.Sprintf("%d enqueues", enqueues), l.store.take(), "EnqueueKeylessJob")
	for range 2 {
		_, err := noop.EnqueueMany(t.Context(), l.client, payloads(many))
		must(t, err)
	}
	f.count(fmt.Sprintf("2 enqueues of %d jobs", many), l.store.take(), "EnqueueJobs")

	l = e.lab(t)
	l.fill(t)
	l.store.take()
	l.drain(t)
	f.count(fmt.Sprintf("drain of %d jobs with %d slots", drained, slots), l.store.take(), "CompleteJobs", "ClaimJobs")
	idle(t, e.lab(t), f)
	return f
}

// count returns the number of each, and the usual round trips of a transaction with these statements: the first one on
// a connection takes more, and now and then maintenance comes in between.
func (f *figures) count(what string, list []asked, typical ...string) {
	counts, trips := map[string]int{"transactions": 0, "reads": 0}, map[int64]int{}
	for _, a := range list {
		if a.write {
			counts["transactions"]++
		} else {
			counts["reads"]++
		}
		for _, s := range a.statements {
			counts[s]++
		}
		if a.write && a.has(typical...) {
			trips[a.trips]++
		}
	}
	delete(counts, "GetNextRunAfter") // a cycle asks when the last answer is old, too; its round trips show that it asks seldom
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		f.add(float64(counts[name]), what+", "+name)
	}
	if rule := mostOften(trips); rule > 0 { // there is a server
		f.add(float64(rule), what+", round trips of a transaction")
	}
}

// mostOften returns the most frequent number.
func mostOften(times map[int64]int) int64 {
	return slices.MaxFunc(slices.Sorted(maps.Keys(times)), func(a, b int64) int { return times[a] - times[b] })
}

func enqueueOne(t *testing.T, l *lab, n int) {
	t.Helper()
	for _, p := range payloads(n) {
		_, err := noop.Enqueue(t.Context(), l.client, p)
		must(t, err)
	}
}

// logs measures the bytes of the write-ahead log, which a disk must take.
func logs(t *testing.T, e engine) *figures {
	t.Helper()
	f := &figures{more: e.logMore}
	for _, m := range []struct {
		name    string
		n       int
		prepare func(*testing.T, *lab)
		run     func(*testing.T, *lab)
	}{
		{"enqueue one by one", many, nil, func(t *testing.T, l *lab) { enqueueOne(t, l, many) }},
		{"enqueue many at once", many, nil, func(t *testing.T, l *lab) {
			_, err := noop.EnqueueMany(t.Context(), l.client, payloads(many))
			must(t, err)
		}},
		{"drain", drained, func(t *testing.T, l *lab) { l.fill(t) }, func(t *testing.T, l *lab) { l.drain(t) }},
	} {
		l := e.lab(t)
		l.store.withoutHistory = true
		_, err := l.client.Enqueue(t.Context(), "another", []byte("{}"))
		must(t, err)
		if l.keepLog != nil {
			l.keepLog(t)
		}
		if m.prepare != nil {
			m.prepare(t, l)
		}
		before := l.logged(t)
		m.run(t, l)
		f.add(float64(l.logged(t)-before)/float64(m.n), m.name+", bytes a job")
	}
	return f
}

// claimed is the number of jobs that the measured claim takes.
const claimed = 200

// step is a statement of a cycle.
type step struct {
	name string
	args any
	run  func(context.Context, db.Querier) (rows int64, err error)
	want int64
}

// steps returns the statements of a cycle and of the check before it. The wanted jobs have the first ids, and all are
// alike.
func steps() []step {
	now := time.Now().UnixMicro()
	ids := make([]byte, 0, 8*claimed)
	for id := range claimed {
		ids = fmt.Appendf(ids, "%c%d", " ,"[min(id, 1)], id+1)
	}
	has := db.HasClaimableJobsParams{Kinds: `["noop"]`, Queue: jobs.DefaultQueue}
	claim := db.ClaimJobsParams{WorkerID: 1, LeaseUntil: now, Now: now, Kinds: `["noop"]`, Queue: jobs.DefaultQueue, N: claimed}
	complete := db.CompleteJobsParams{Now: now, WorkerID: 1, Attempt: 1, Ids: "[" + string(ids) + "]"}
	return []step{
		{"GetNextRunAfter", nil, func(ctx context.Context, q db.Querier) (int64, error) {
			_, err := q.GetNextRunAfter(ctx)
			return 0, err
		}, 0},
		{"HasClaimableJobs", has, func(ctx context.Context, q db.Querier) (int64, error) { return q.HasClaimableJobs(ctx, has) }, 1},
		{"ClaimJobs", claim, func(ctx context.Context, q db.Querier) (int64, error) {
			rows, err := q.ClaimJobs(ctx, claim)
			return int64(len(rows)), err
		}, claimed},
		{"CompleteJobs", complete, func(ctx context.Context, q db.Querier) (int64, error) { return q.CompleteJobs(ctx, complete) }, claimed},
	}
}

// claims counts the database pages that a cycle reads, in a table with nothing else and beside 100,000 finished and
// 100,000 scheduled jobs.
func claims(t *testing.T, e engine) *figures {
	t.Helper()
	f := &figures{more: e.claimMore, few: 20 * e.claimMore}
	for _, one := range e.claim(t) {
		f.add(one.value, one.name+", pages")
	}
	for _, one := range e.claim(t, e.name+".besides.sql") {
		f.add(one.value, one.name+" beside 200000 other jobs, pages")
	}
	return f
}

// memoryMore is less than one allocation a job.
const memoryMore = 0.04

// memory measures allocations.
func memory(t *testing.T, e engine) *figures {
	t.Helper()
	f := &figures{more: memoryMore}
	l := e.lab(t)
	enqueueOne(t, l, 1) // the first one also connects, and has statements prepared
	f.allocated("enqueue one by one", many, func() { enqueueOne(t, l, many) })
	list := payloads(10 * many)
	f.allocated("enqueue many at once", len(list), func() {
		_, err := noop.EnqueueMany(t.Context(), l.client, list)
		must(t, err)
	})
	l = e.lab(t)
	l.fill(t)
	f.allocated("drain", drained, func() { l.drain(t) })
	return f
}

// allocated adds the allocations of run for each of n jobs.
func (f *figures) allocated(what string, n int, run func()) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	run()
	runtime.ReadMemStats(&after)
	f.add(float64(after.Mallocs-before.Mallocs)/float64(n), what+", allocations a job")
	f.add(float64(after.TotalAlloc-before.TotalAlloc)/float64(n), what+", bytes a job")
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", file))
	must(t, err)
	return string(text)
}
