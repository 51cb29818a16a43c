package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// Obstacle keeps a queue's database from answering.
type Obstacle struct {
	Name string

	// Block puts the obstacle there, until release.
	Block func(t *testing.T, store Store) (release func())

	Writes bool   // it keeps every write from being made
	Reads  bool   // and every read
	Spares string // the method that it does not concern; optional
}

const (
	// patience is the deadline of each call, and backWithin how long after that it must be back, also on a slow machine.
	patience   = 200 * time.Millisecond
	backWithin = 10 * time.Second
)

// RunDeadlines calls every method that takes a context with a short deadline, while an obstacle keeps the database from answering.
// Each returns soon, with an error that is the context's and says whether anything was written.
func RunDeadlines(t *testing.T, open Open, obstacles []Obstacle) {
	for _, o := range obstacles {
		t.Run(o.Name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, open)
			d := f.deadlines()
			d.wantAll()
			release := sync.OnceFunc(o.Block(t, f.store))
			t.Cleanup(release)
			d.callAll(o)
			release()
			d.wantNothingWritten()
		})
	}
}

// call is a call of a method of the public API.
type call struct {
	writes bool // it cannot do without a write
	maybe  bool // it may have nothing to do
	run    func(ctx context.Context) error
}

// deadlines are the calls of one test, and the jobs that they are about.
type deadlines struct {
	*fixture
	calls     map[string]call
	unwritten bool // every call that writes said that it has not
}

// late is the kind of the jobs that must not be there.
const late = "late"

func (f *fixture) deadlines() *deadlines {
	f.Helper()
	failed, cancelled, waiting := f.enqueue("fails"), f.enqueue("waits"), f.enqueue("waits")
	f.drain(jobs.Config{}, on("fails", func(context.Context, jobs.Job) error { return jobs.Discard(errors.New("no")) }))
	_, err := f.client.Cancel(f.ctx, cancelled)
	f.must(err)
	d := &deadlines{fixture: f, calls: map[string]call{}, unwritten: true}
	d.addClient(failed, cancelled, waiting)
	d.addInspector(failed, cancelled, waiting)
	d.addProgress()
	return d
}

func (d *deadlines) add(writes bool, name string, run func(ctx context.Context) error) {
	d.calls[name] = call{writes: writes, run: run}
}

func (d *deadlines) maybe(name string, run func(ctx context.Context) error) {
	d.calls[name] = call{maybe: true, run: run}
}

func (d *deadlines) addClient(failed, cancelled, waiting int64) {
	c, one := d.client, json.RawMessage("1")
	d.add(true, "Client.Enqueue", func(ctx context.Context) error { _, err := c.Enqueue(ctx, late, one); return err })
	d.add(true, "Client.Enqueue, unique", func(ctx context.Context) error { _, err := c.Enqueue(ctx, late, one, jobs.Unique("u")); return err })
	d.add(true, "Client.EnqueueMany", func(ctx context.Context) error {
		_, err := c.EnqueueMany(ctx, late, []json.RawMessage{one, one})
		return err
	})
	d.add(true, "Client.EnqueueItems", func(ctx context.Context) error {
		_, err := c.EnqueueItems(ctx, []jobs.Item{jobs.NewItem(late, one), jobs.NewItem(late, one)})
		return err
	})
	d.add(true, "Client.Retry", func(ctx context.Context) error { return c.Retry(ctx, cancelled) })
	d.add(true, "Client.Cancel", func(ctx context.Context) error { _, err := c.Cancel(ctx, waiting); return err })
	d.add(true, "Client.Update", func(ctx context.Context) error { return c.Update(ctx, waiting, jobs.SetPriority(1)) })
	d.add(true, "Client.Delete", func(ctx context.Context) error { return c.Delete(ctx, failed) })
	d.add(true, "Client.PauseQueue", func(ctx context.Context) error { _, err := c.PauseQueue(ctx, "q"); return err })
	d.add(true, "Client.ResumeQueue", func(ctx context.Context) error { _, err := c.ResumeQueue(ctx, "q"); return err })
	d.add(true, "Client.SetLimit", func(ctx context.Context) error { return c.SetLimit(ctx, late, "", jobs.LimitValues{Running: 1}) })
	d.add(true, "Client.DeleteLimit", func(ctx context.Context) error { _, err := c.DeleteLimit(ctx, late, ""); return err })
	d.add(true, "Client.ResumeSequence", func(ctx context.Context) error { _, err := c.ResumeSequence(ctx, late, ""); return err })
	d.add(true, "Client.SetTotalLimit", func(ctx context.Context) error { return c.SetTotalLimit(ctx, late, jobs.LimitValues{Running: 1}) })
	d.add(true, "Client.SetQueueLimit", func(ctx context.Context) error { return c.SetQueueLimit(ctx, late, jobs.LimitValues{Running: 1}) })
	d.add(true, "Client.DeleteTotalLimit", func(ctx context.Context) error { _, err := c.DeleteTotalLimit(ctx, late); return err })
	d.add(true, "Client.DeleteQueueLimit", func(ctx context.Context) error { _, err := c.DeleteQueueLimit(ctx, late); return err })
	d.add(false, "Limiter.Take", func(ctx context.Context) error { return c.Limit(late).Take(ctx, 1) })
	d.add(false, "Client.Limits", func(ctx context.Context) error { _, err := c.Limits(ctx); return err })
	d.add(true, "Client.PauseKind", func(ctx context.Context) error { _, err := c.PauseKind(ctx, "q", late); return err })
	d.add(true, "Client.ResumeKind", func(ctx context.Context) error { _, err := c.ResumeKind(ctx, "q", late); return err })
	d.addSchedules()
	d.add(true, "Client.RevealErrors", func(ctx context.Context) error {
		_, err := c.RevealErrors(jobs.WithActor(ctx, "me"), failed)
		return err
	})
	d.add(true, "Client.Tx", func(ctx context.Context) error {
		return c.Tx(ctx, func(ctx context.Context, tx *jobs.Client) error {
			_, err := tx.Enqueue(ctx, late, one)
			return err
		})
	})
	d.add(false, "Client.Get", func(ctx context.Context) error { _, err := c.Get(ctx, waiting); return err })
	d.maybe("Client.GetByUniqueKey", func(ctx context.Context) error { return found(c.GetByUniqueKey(ctx, late, "u")) })
	d.maybe("Client.GetByRequestID", func(ctx context.Context) error { return found(c.GetByRequestID(ctx, late, "r")) })
	d.add(true, "Client.Wait", func(ctx context.Context) error { _, err := c.Wait(ctx, waiting); return err })
	d.add(false, "Client.CheckSchema", c.CheckSchema)
	d.add(false, "Client.CheckOpen", c.CheckOpen)
	d.maybe("Client.Migrate", func(ctx context.Context) error { _, err := c.Migrate(ctx); return err })
	path := filepath.Join(d.TempDir(), "backup.db")
	d.maybe("Client.BackupTo", func(ctx context.Context) error { return c.BackupTo(ctx, io.Discard) })
	d.maybe("Client.Backup", func(ctx context.Context) error { return c.Backup(ctx, path) })
}

func (d *deadlines) addSchedules() {
	c, name := d.client, "s"
	s := jobs.NewSchedule(name, "0 0 1 1 *", late, json.RawMessage("1"))
	d.must(c.PutSchedule(d.ctx, s))
	d.add(true, "Client.PutSchedule", func(ctx context.Context) error { return c.PutSchedule(ctx, s) })
	d.add(true, "Client.SetSchedule", func(ctx context.Context) error {
		return c.SetSchedule(ctx, name, jobs.ScheduleChange{Overlap: new(jobs.OverlapSkip)})
	})
	d.maybe("Client.PauseSchedule", func(ctx context.Context) error { _, err := c.PauseSchedule(ctx, name); return err })
	d.maybe("Client.ResumeSchedule", func(ctx context.Context) error { _, err := c.ResumeSchedule(ctx, name); return err })
	d.maybe("Client.DeleteSchedule", func(ctx context.Context) error { _, err := c.DeleteSchedule(ctx, "none"); return err })
	d.add(true, "Client.RunSchedule", func(ctx context.Context) error { _, err := c.RunSchedule(ctx, name); return err })
	d.add(false, "Client.GetSchedule", func(ctx context.Context) error { _, err := c.GetSchedule(ctx, name); return err })
	d.add(false, "Client.ListSchedules", func(ctx context.Context) error { _, err := c.ListSchedules(ctx, "", 10); return err })
	d.add(false, "Client.ScheduleTicks", func(ctx context.Context) error { _, err := c.ScheduleTicks(ctx, name, 10); return err })
}

// found returns the error of a look-up, but nil when there is no such job.
func found(_ jobs.Job, err error) error {
	if errors.Is(err, jobs.ErrNotFound) {
		return nil
	}
	return err
}

func (d *deadlines) addInspector(failed, cancelled, waiting int64) {
	in, all := inspect.New(d.client), inspect.FailedFilter{}
	ids := []int64{failed, cancelled}
	d.add(true, "Inspector.RetryMany", func(ctx context.Context) error { _, err := in.RetryMany(ctx, ids); return err })
	d.add(true, "Inspector.CancelMany", func(ctx context.Context) error { _, err := in.CancelMany(ctx, []int64{waiting}); return err })
	d.add(true, "Inspector.DeleteMany", func(ctx context.Context) error { _, err := in.DeleteMany(ctx, ids); return err })
	d.add(true, "Inspector.RetryFailed", func(ctx context.Context) error { _, err := in.RetryFailed(ctx, all); return err })
	d.add(true, "Inspector.Recount", func(ctx context.Context) error { _, err := in.Recount(ctx); return err })
	d.maybe("Inspector.RecountLanes", func(ctx context.Context) error { _, err := in.RecountLanes(ctx); return err })
	d.add(true, "Inspector.MarkSensitive", func(ctx context.Context) error { return in.MarkSensitive(ctx, late, "a") })
	d.maybe("Inspector.UnmarkSensitive", func(ctx context.Context) error { _, err := in.UnmarkSensitive(ctx, late, "a"); return err })
	rule := inspect.RetentionRule{Kind: late, Status: jobs.StatusDone, Keep: time.Hour}
	d.add(true, "Inspector.SetRetention", func(ctx context.Context) error { _, err := in.SetRetention(ctx, rule); return err })
	d.maybe("Inspector.RemoveRetention", func(ctx context.Context) error { _, err := in.RemoveRetention(ctx, rule); return err })
	d.add(false, "Inspector.Retentions", func(ctx context.Context) error { _, err := in.Retentions(ctx); return err })
	keys := inspect.LimitKeyFilter{Kind: late}
	d.add(false, "Inspector.LimitKeys", func(ctx context.Context) error { _, err := in.LimitKeys(ctx, keys); return err })
	d.add(false, "Inspector.LimitStats", func(ctx context.Context) error { _, err := in.LimitStats(ctx); return err })
	d.maybe("Inspector.Prune", func(ctx context.Context) error { _, err := in.Prune(ctx, jobs.StatusDone, 0); return err })
	d.maybe("Inspector.PruneHistory", in.PruneHistory)
	d.maybe("Inspector.Forget", func(ctx context.Context) error { _, err := in.Forget(ctx, "7"); return err })
	encrypting := inspect.New(d.encrypting("a"))
	d.maybe("Inspector.Rekey", func(ctx context.Context) error {
		_, err := encrypting.Rekey(ctx, inspect.RekeyOptions{Plain: true})
		return err
	})
	d.maybe("Inspector.LastAttempt", func(ctx context.Context) error {
		_, err := in.LastAttempt(ctx, jobs.Job{ID: failed, Attempt: 1, WorkerID: 1})
		return err
	})
	d.maybe("Inspector.RescueGone", func(ctx context.Context) error { return in.RescueGone(ctx, quiet()) })
	d.add(false, "Inspector.Attempts", func(ctx context.Context) error { _, err := in.Attempts(ctx, failed, 0, 10); return err })
	d.add(false, "Inspector.Audit", func(ctx context.Context) error { _, err := in.Audit(ctx, inspect.AuditFilter{}); return err })
	d.add(false, "Inspector.Counts", func(ctx context.Context) error { _, err := in.Counts(ctx); return err })
	d.add(false, "Inspector.Errors", func(ctx context.Context) error { _, err := in.Errors(ctx, failed); return err })
	d.add(false, "Inspector.FailedReport", func(ctx context.Context) error { _, err := in.FailedReport(ctx, all); return err })
	d.add(false, "Inspector.Failures", func(ctx context.Context) error { _, err := in.Failures(ctx, all, inspect.Failure{}); return err })
	d.add(false, "Inspector.Histories", func(ctx context.Context) error {
		_, err := in.Histories(ctx, inspect.HistoryFilter{}, jobs.DefaultQueue)
		return err
	})
	d.add(false, "Inspector.History", func(ctx context.Context) error { _, err := in.History(ctx, inspect.HistoryFilter{}); return err })
	d.add(false, "Inspector.List", func(ctx context.Context) error { _, err := in.List(ctx, inspect.Filter{}); return err })
	d.add(false, "Inspector.ListFailed", func(ctx context.Context) error { _, err := in.ListFailed(ctx, all, jobs.Job{}); return err })
	d.add(false, "Inspector.ListPage", func(ctx context.Context) error { _, err := in.ListPage(ctx, inspect.Filter{}); return err })
	d.add(false, "Inspector.Queues", func(ctx context.Context) error { _, err := in.Queues(ctx); return err })
	d.add(false, "Inspector.Refusals", func(ctx context.Context) error { _, err := in.Refusals(ctx); return err })
	d.add(false, "Inspector.ScheduleStats", func(ctx context.Context) error { _, err := in.ScheduleStats(ctx); return err })
	d.add(false, "Inspector.SensitiveFields", func(ctx context.Context) error { _, err := in.SensitiveFields(ctx); return err })
	d.add(false, "Inspector.Snapshot", func(ctx context.Context) error { _, err := in.Snapshot(ctx); return err })
	d.add(false, "Inspector.Stats", func(ctx context.Context) error { _, err := in.Stats(ctx); return err })
	d.add(false, "Inspector.UnknownNames", func(ctx context.Context) error { _, err := in.UnknownNames(ctx, []string{late}, nil); return err })
	d.add(false, "Inspector.Why", func(ctx context.Context) error { _, err := in.Why(ctx, waiting); return err })
	d.add(false, "Inspector.WhySchedule", func(ctx context.Context) error { _, err := in.WhySchedule(ctx, "s"); return err })
	d.add(false, "Inspector.Workers", func(ctx context.Context) error { _, err := in.Workers(ctx); return err })
}

// addProgress adds SetProgress, which only a handler can call: its job runs until the test ends.
func (d *deadlines) addProgress() {
	d.enqueue("runs")
	started, release := make(chan jobs.Job, 1), make(chan struct{})
	d.start(jobs.Config{Grace: -1, StopTimeout: time.Second}, on("runs", func(_ context.Context, job jobs.Job) error {
		started <- job
		<-release
		return nil
	}))
	d.Cleanup(func() { close(release) }) // before the runner is stopped
	job := receive(d.fixture, "the start", started)
	d.add(true, "Job.SetProgress", func(ctx context.Context) error { return job.SetProgress(ctx, 1) })
}

// wantAll checks that there is a call of every method that takes a context.
func (d *deadlines) wantAll() {
	context := reflect.TypeFor[context.Context]()
	for name, of := range map[string]reflect.Type{
		"Client": reflect.TypeFor[*jobs.Client](), "Inspector": reflect.TypeFor[*inspect.Inspector](), "Job": reflect.TypeFor[*jobs.Job](),
		"Limiter": reflect.TypeFor[*jobs.Limiter](),
	} {
		for method := range of.Methods() {
			if method.Type.NumIn() < 2 || method.Type.In(1) != context {
				continue
			}
			full := name + "." + method.Name
			if _, there := d.calls[full]; !there && full != "Job.Withhold" {
				d.Errorf("%s takes a context and is not called here", full)
			}
		}
	}
}

// callAll makes all calls at once and checks their results.
func (d *deadlines) callAll(o Obstacle) {
	type end struct {
		name string
		err  error
		took time.Duration
	}
	ends := make(chan end, len(d.calls))
	for name, c := range d.calls {
		go func() {
			ctx, cancel := context.WithTimeout(d.ctx, patience)
			defer cancel()
			began := time.Now()
			err := c.run(ctx)
			ends <- end{name, err, time.Since(began)}
		}()
	}
	for range d.calls {
		e := receive(d.fixture, "a call", ends)
		c := d.calls[e.name]
		if e.took > patience+backWithin {
			d.Errorf("%s is back after %s", e.name, e.took)
		}
		if e.err == nil || errors.Is(e.err, jobs.ErrUnknownOutcome) {
			d.unwritten = d.unwritten && !c.writes
		}
		must := !c.maybe && e.name != o.Spares && (c.writes && o.Writes || o.Reads)
		switch {
		case errors.Is(e.err, context.DeadlineExceeded):
		case e.err == nil && !must:
		case errors.Is(e.err, errors.ErrUnsupported):
		default:
			d.Errorf("%s returns %v", e.name, e.err)
		}
	}
}

// wantNothingWritten checks that no call has written that said it had not.
func (d *deadlines) wantNothingWritten() {
	list, err := inspect.New(d.client).List(d.ctx, inspect.Filter{Kind: late})
	d.must(err)
	if d.unwritten && len(list) > 0 {
		d.Errorf("%d jobs were enqueued by calls that said they were not", len(list))
	}
}
