package jobstest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
)

const (
	// crashPoints is the number of points that Crash tries without [MaxPoints].
	crashPoints = 200

	// crashWithin is the longest time of a run before Crash reports it as stuck.
	crashWithin = time.Minute

	// crashAttempts is the largest number of times that a run continues after a retry or a snooze.
	crashAttempts = 1000
)

// MaxPoints bounds the points at which [Crash] kills the handler, each of which needs a run; 200 without it.
func MaxPoints(n int) Option { return func(o *options) { o.points = n } }

// CrashReport is the result of [Crash].
type CrashReport struct {
	Undisturbed CrashEnd     // end of the run without a crash
	Points      []CrashPoint // where the handler was killed, in the handler's order
	Left        int          // number of points not tried, because of [MaxPoints]
}

// CrashEnd is the end of a run.
type CrashEnd struct {
	Status jobs.Status     // the status of the job
	State  json.RawMessage // result of the test's state function
}

func (e CrashEnd) String() string { return fmt.Sprintf("job %s, state %s", e.Status, e.State) }

func (e CrashEnd) equals(other CrashEnd) bool {
	return e.Status == other.Status && bytes.Equal(e.State, other.State)
}

// CrashPoint is a point at which the handler was killed.
type CrashPoint struct {
	Name    string // such as "after SetProgress", "before commit"
	Reached bool   // false if the run with the crash did not reach this point: the handler is not deterministic
	End     CrashEnd
}

// Differences returns the points after which the end differs from that of the undisturbed run.
func (r *CrashReport) Differences() (list []CrashPoint) {
	for _, p := range r.Points {
		if p.Reached && !p.End.equals(r.Undisturbed) {
			list = append(list, p)
		}
	}
	return list
}

// String returns the text of the report.
func (r *CrashReport) String() string {
	var text strings.Builder
	list := r.Differences()
	fmt.Fprintf(&text, "the handler was killed at %d points; at %d of them the end differs after a further attempt\n", len(r.Points), len(list))
	fmt.Fprintf(&text, "  undisturbed: %s\n", r.Undisturbed)
	for _, p := range list {
		fmt.Fprintf(&text, "  killed %s: %s\n", p.Name, p.End)
	}
	for _, p := range r.Points {
		if !p.Reached {
			fmt.Fprintf(&text, "  not reached again, so the handler does not do the same each time: %s\n", p.Name)
		}
	}
	if r.Left > 0 {
		fmt.Fprintf(&text, "  not tried: the last %d points, because of the bound: see MaxPoints\n", r.Left)
	}
	return strings.TrimSuffix(text.String(), "\n")
}

// Crash tests whether a handler is idempotent: whether a job that runs again after a crash leaves the same state as one undisturbed
// attempt. It fails the test, by Errorf, with the points at which the state differs, and returns the report.
//
// Crash runs a job of the kind once undisturbed. It records each point: before and after each call of the handler's job and of the run's
// client that writes, before and after each statement and commit on a database that [CrashRun.DB] or [CrashRun.OpenDB] opened, and after
// the handler returned. Then it makes one run for each point, in which the handler is killed there. Another worker rescues the job, as
// after the death of a process, and runs it to its end, with its retries and snoozes. A job that fails because of the crash (MaxAttempts 1)
// differs too.
//
// setup is called once for each run. It creates the application's part anew, and returns the handler and a function that returns the state
// at the run's end: rows of the application, calls that a fake service received, whatever must be the same. States are compared as JSON:
// leave out ids and times that differ from run to run.
//
// A killed handler stops, and runs no deferred function before the state is taken. Then its calls return errors, so that it ends. Two
// things differ from a real death: memory is not lost, so a lock that the handler held blocks the next attempt (Crash reports it after a
// minute), and a goroutine that handlers start runs on until its next point. Writes to files and calls of other services are no points:
// those on both sides of them are.
func Crash[T any](tb testing.TB, kind jobs.Kind[T], args T, setup func(run *CrashRun) (h jobs.Handler[T], state func() any), opts ...Option) *CrashReport {
	tb.Helper()
	if settings(opts).store != nil {
		tb.Fatal("jobstest: Crash makes a queue for each run, and cannot use the store of On")
	}
	c := crasher[T]{tb: tb, kind: kind, args: args, setup: setup, options: settings(append([]Option{MaxPoints(crashPoints)}, opts...))}
	report := &CrashReport{}
	undisturbed, first := c.run(-1)
	report.Undisturbed = undisturbed
	names := first.points()
	if report.Left = max(0, len(names)-c.options.points); report.Left > 0 {
		names = names[:c.options.points]
	}
	for i, name := range names {
		end, p := c.run(i)
		report.Points = append(report.Points, CrashPoint{Name: name, Reached: p.isDead(), End: end})
	}
	if len(report.Differences()) > 0 {
		tb.Errorf("jobstest: kind %s: %s", kind.Name, report)
	} else if report.Left > 0 {
		tb.Logf("jobstest: kind %s: %s", kind.Name, report)
	}
	return report
}

// crasher makes the runs of one Crash.
type crasher[T any] struct {
	tb      testing.TB
	kind    jobs.Kind[T]
	args    T
	setup   func(*CrashRun) (jobs.Handler[T], func() any)
	options options
}

// run makes one run, in which the first process is killed at a point; -1 for none. It also returns that process.
func (c *crasher[T]) run(at int) (CrashEnd, *process) {
	c.tb.Helper()
	folder, err := os.MkdirTemp(c.tb.TempDir(), "run-")
	if err != nil {
		c.tb.Fatalf("jobstest: %v", err)
	}
	run := newCrashRun(c.tb, folder, c.options)
	handler, state := c.setup(run)
	if handler == nil || state == nil {
		c.tb.Fatalf("jobstest: the setup of kind %s must return a handler and a function that returns the state", c.kind.Name)
	}
	first := newProcess(at, run.undo)
	end := CrashEnd{}
	end.Status, err = c.perform(run, first, handler)
	if err == nil {
		end.State, err = json.Marshal(state())
	}
	if err = errors.Join(err, run.close()); err != nil {
		point := "undisturbed"
		if names := first.points(); at >= 0 && at < len(names) {
			point = "killed " + names[at]
		}
		c.tb.Fatalf("jobstest: the run of kind %s, %s: %v", c.kind.Name, point, err)
	}
	return end, first
}

// perform enqueues the job and runs it to its end, in a process and, after its death, in another one.
func (c *crasher[T]) perform(run *CrashRun, p *process, h jobs.Handler[T]) (jobs.Status, error) {
	ctx, cancel := context.WithTimeout(c.tb.Context(), crashWithin)
	defer cancel()
	receipt, err := c.kind.Enqueue(ctx, run.plain(), c.args)
	if err != nil {
		return "", err
	}
	for range crashAttempts {
		killed, err := c.live(ctx, run, p, h)
		if err != nil {
			return "", err
		}
		if killed {
			p = newProcess(-1, run.undo)
			continue
		}
		job, err := run.plain().Get(ctx, receipt.ID)
		if ctx.Err() != nil {
			return "", fmt.Errorf("the handler did not return within %s: it may wait for a lock in memory that the handler killed before it still holds", crashWithin)
		}
		if errors.Is(err, jobs.ErrNotFound) && c.kind.Keep == jobs.Nothing {
			return jobs.StatusDone, nil
		}
		if err != nil || !job.FinishedAt.IsZero() {
			return job.Status, err
		}
		run.advanceTo(job.RunAfter)
	}
	return "", fmt.Errorf("the job did not end within %d attempts", crashAttempts)
}

// live runs due jobs in a process, until nothing is due or the process is killed.
func (c *crasher[T]) live(ctx context.Context, run *CrashRun, p *process, h jobs.Handler[T]) (killed bool, err error) {
	run.setProcess(p)
	client := jobs.New(engine.SealStore(processStore{run.port().(clocked), p}), run.options...)
	runner, err := run.runner(client, []string{cmp.Or(c.kind.Queue, jobs.DefaultQueue)}, p.watch)
	if err != nil {
		return false, err
	}
	c.kind.Handle(runner, h)
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- runner.Drain(ctx) }()
	select {
	case err = <-ended:
		if !p.isDead() {
			stop()
			return false, err
		}
		ended <- err
		<-p.killed
	case <-p.killed:
	}
	run.killed = append(run.killed, killedProcess{p, ended, stop})
	return true, p.fault
}
