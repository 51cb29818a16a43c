package jobstest_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/jobstest"
)

// oneTest simulates a test for the benchmark: it calls the registered functions when it ends.
type oneTest struct {
	testing.TB
	cleanups []func()
	ctx      context.Context
}

func (o *oneTest) Cleanup(fn func())        { o.cleanups = append(o.cleanups, fn) }
func (o *oneTest) Context() context.Context { return o.ctx }

func (o *oneTest) TempDir() string {
	o.Helper()
	dir, err := os.MkdirTemp("", "jobstest-cost-")
	if err != nil {
		o.Fatal(err)
	}
	o.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			o.Error(err)
		}
	})
	return dir
}

// run runs a test as the testing package does: its context ends before the registered functions are called.
func run(tb testing.TB, test func(testing.TB)) {
	ctx, stop := context.WithCancel(context.Background())
	o := &oneTest{TB: tb, ctx: ctx}
	test(o)
	stop()
	for _, fn := range slices.Backward(o.cleanups) {
		fn()
	}
}

// costs holds tests of the usual sorts.
var costs = []struct {
	name string
	test func(testing.TB)
}{
	{"New", func(tb testing.TB) { jobstest.New(tb) }},
	{"Run", func(tb testing.TB) { jobstest.Run(tb, jobstest.New(tb), mail, deliver, letter{"ann"}) }},
	{"RetryAndRun", func(tb testing.TB) {
		q := jobstest.New(tb)
		out := jobstest.Run(tb, q, mail, func(context.Context, jobs.Job, letter) error { return errors.New("no") }, letter{"ann"})
		jobstest.RunJob(tb, q, mail, deliver, out.Job.ID)
	}},
	{"EnqueueAndDrain", func(tb testing.TB) {
		q := jobstest.New(tb)
		for range 10 {
			if _, err := mail.Enqueue(tb.Context(), q.Client, letter{"ann"}); err != nil {
				tb.Fatal(err)
			}
		}
		q.Drain(func(r *jobs.Runner) { mail.Handle(r, deliver) })
	}},
	{"RunForADay", func(tb testing.TB) {
		q := jobstest.New(tb)
		if err := q.PutSchedule(tb.Context(), mail.Every("hourly", time.Hour, letter{"all"})); err != nil {
			tb.Fatal(err)
		}
		q.RunFor(24*time.Hour, func(r *jobs.Runner) { mail.Handle(r, deliver) })
	}},
}

// BenchmarkATest measures one test, including the creation and the end of its queue.
func BenchmarkATest(b *testing.B) {
	for _, c := range costs {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				run(b, c.test)
			}
		})
	}
}

// BenchmarkParallelTests measures a test beside others, as with T.Parallel.
func BenchmarkParallelTests(b *testing.B) {
	for _, c := range costs {
		b.Run(c.name, func(b *testing.B) {
			b.RunParallel(func(p *testing.PB) {
				for p.Next() {
					run(b, c.test)
				}
			})
		})
	}
}
