package move

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// refused runs a move that must be refused with an error that names all texts, and leave both sides open.
func (l *lab) refused(c Config, reason error, texts ...string) {
	l.Helper()
	_, err := Run(l.ctx, c)
	l.wantError(err, reason, texts...)
	l.wantOpen(l.from)
	l.wantOpen(l.to)
}

func (l *lab) wantError(err, reason error, texts ...string) {
	l.Helper()
	if !errors.Is(err, reason) {
		l.Errorf("the error is %v, not %v", err, reason)
		return
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			l.Errorf("the error lacks %q: %v", text, err)
		}
	}
}

func testNotEmpty(l *lab) {
	l.enqueue(l.from, 1)
	target := l.client(l.to)
	_, err := target.PauseQueue(l.ctx, "q")
	l.must(err)
	l.refused(l.config(), ErrNotEmpty, "target "+l.to.name, "queues")
	l.to.empty(l.T)
	_, err = target.PauseKind(l.ctx, "q", "k")
	l.must(err)
	l.refused(l.config(), ErrNotEmpty, "target "+l.to.name, "kinds that are paused")
	l.to.empty(l.T)
	_, err = inspect.New(target).SetRetention(l.ctx, inspect.RetentionRule{Status: jobs.StatusDone, Keep: jobs.Forever})
	l.must(err)
	l.refused(l.config(), ErrNotEmpty, "target "+l.to.name, "rules of how long jobs are kept")
	l.to.empty(l.T)
	l.enqueue(l.to, 1)
	l.refused(l.config(), ErrNotEmpty, "target "+l.to.name, "jobs")
	if n := len(l.everything(l.to).jobs); n != 1 {
		l.Errorf("the target has %d jobs", n)
	}
	l.to.empty(l.T)
	id := l.enqueue(l.to, 1)[0]
	l.must(target.Delete(jobs.WithActor(l.ctx, "ann"), id))
	l.refused(l.config(), ErrNotEmpty, "target "+l.to.name, "notes of what people changed")
}

// The target keeps the marks of its own programs, and gets the marks of the source in addition.
func testMarksOfBothSides(l *lab) {
	mark := func(p *place, items string) {
		l.write(p, func(ctx context.Context, q db.Querier) error {
			_, err := q.AddSensitiveFields(ctx, db.AddSensitiveFieldsParams{Now: early + 1, Items: items})
			return err
		})
	}
	mark(l.from, `[["k", "a"], ["k", "b"]]`)
	mark(l.to, `[["k", "b"], ["l", "*"]]`)
	l.enqueue(l.from, 1)
	l.moves(l.config())
	want := map[[2]string]bool{{"k", "a"}: true, {"k", "b"}: true, {"l", "*"}: true}
	if have := l.everything(l.to).marks; !maps.Equal(have, want) {
		l.Errorf("sensitive fields of the target are %v, not %v", have, want)
	}
}

// ghost adds a worker of another process, with a lock or without.
func (l *lab) ghost(p *place, name string, lock bool, lease time.Duration) (id int64, die func()) {
	l.Helper()
	store := l.side(p).Store
	key, release := "none", func(bool) error { return nil }
	if lock {
		var err error
		key, release, err = store.WorkerLocks().HoldWorkerLock(l.ctx)
		l.must(err)
	}
	l.must(store.Write(l.ctx, func(ctx context.Context, q db.Querier) (err error) {
		now := store.Now()
		id, err = q.RegisterWorker(ctx, db.RegisterWorkerParams{
			Name: name, LockKey: key, Host: "there", Pid: 17, Queues: "{}", Kinds: "[]",
			Now: now.UnixMicro(), LeaseUntil: now.Add(lease).UnixMicro(),
		})
		return err
	}))
	die = sync.OnceFunc(func() {
		if err := release(false); err != nil {
			l.Error(err)
		}
	})
	l.Cleanup(die)
	return id, die
}

func testLiveWorker(l *lab) {
	l.enqueue(l.from, 1)
	_, die := l.ghost(l.from, "anna", true, -time.Hour) // stopped for a while: its lock shows that it lives
	_, _ = l.ghost(l.from, "berta", false, time.Hour)
	l.refused(l.config(), ErrLive, "source "+l.from.name, `"berta" (process 17 on there, last seen `)
	die()

	other := l.toEngine.place(l.T)
	_, _ = l.ghost(l.to, "clara", false, time.Hour)
	l.refused(Config{From: l.side(other), To: l.side(l.to)}, ErrLive, "target "+l.to.name, `"clara"`)
}

func testDeadWorker(l *lab) {
	l.put(l.from, everything{jobs: []db.Job{{ // the first to be claimed
		ID: 1, Kind: "k", Payload: "{}", Status: string(jobs.StatusPending), Queue: "default", MaxAttempts: 25, Crashes: 5,
	}}})
	ids := append([]int64{1}, l.enqueue(l.from, 3)...)
	byLock, die := l.ghost(l.from, "anna", true, time.Hour)
	byLease, _ := l.ghost(l.from, "berta", false, -time.Second)
	_, dieToo := l.ghost(l.to, "clara", true, time.Hour)
	store := l.side(l.from).Store
	claim := func(worker int64, n int64) {
		l.write(l.from, func(ctx context.Context, q db.Querier) error {
			now := store.Now()
			rows, err := q.ClaimJobs(ctx, db.ClaimJobsParams{
				WorkerID: worker, LeaseUntil: now.Add(time.Hour).UnixMicro(), Now: now.UnixMicro(), Kinds: `["k"]`, Queue: "default", N: n,
			})
			if err == nil && int64(len(rows)) != n {
				l.Errorf("worker %d claims %d jobs, not %d", worker, len(rows), n)
			}
			return err
		})
	}
	claim(byLock, 3)
	claim(byLease, 1)
	if _, err := l.client(l.from).Cancel(l.ctx, ids[2]); err != nil {
		l.Fatal(err)
	}
	die()
	dieToo()
	l.moves(l.config())
	moved := l.client(l.to)
	for i, want := range []struct {
		status  jobs.Status
		cause   jobs.Cause
		crashes int
	}{
		{jobs.StatusPending, jobs.CauseCrash, 6}, // the maximum is a runner's setting
		{jobs.StatusPending, jobs.CauseCrash, 1},
		{jobs.StatusCancelled, jobs.CauseCrash, 1},
		{jobs.StatusPending, jobs.CauseLost, 0},
	} {
		job, err := moved.Get(l.ctx, ids[i])
		l.must(err)
		errs, err := inspect.New(moved).Errors(l.ctx, ids[i])
		l.must(err)
		if job.Status != want.status || job.Crashes != want.crashes || len(errs) != 1 || errs[0].Cause != want.cause {
			l.Errorf("job %d is %s after %d crashes with the errors %+v, not %+v", ids[i], job.Status, job.Crashes, errs, want)
		}
	}
}

// hooked calls a function before the first write.
type hooked struct {
	engine.Store
	before func()
}

func (h *hooked) Write(ctx context.Context, fn func(context.Context, db.Querier) error) error {
	if before := h.before; before != nil {
		h.before = nil
		before()
	}
	return h.Store.Write(ctx, fn)
}

// The first write is the closing of the source.
func testLateWorker(l *lab) {
	l.enqueue(l.from, 1)
	c := l.config()
	c.From.Store = &hooked{c.From.Store, func() { l.ghost(l.from, "late", true, time.Hour) }}
	l.refused(c, ErrLive, "source "+l.from.name, `"late"`)
}

func testSame(l *lab) {
	c := l.config()
	c.To = c.From
	l.refused(c, ErrSame)
	c.To = l.side(l.from)
	c.To.Name = "another name for it"
	l.refused(c, ErrSame)
	// The same when the first attempt was cut off after the closing.
	l.write(l.from, func(ctx context.Context, q db.Querier) error {
		_, err := q.CloseQueue(ctx, db.CloseQueueParams{Direction: out, Token: "t", Peer: c.To.Name})
		return err
	})
	_, err := Run(l.ctx, c)
	l.wantError(err, ErrSame, "reopen")
}

func testSchema(l *lab) {
	l.enqueue(l.from, 1)
	for role, p := range map[string]*place{"source": l.from, "target": l.to} {
		store := l.side(p).Store
		_, err := store.Migrations().MigrateDown(l.ctx)
		l.must(err)
		_, err = Run(l.ctx, l.config())
		var schema *jobs.SchemaError
		if !errors.As(err, &schema) || !strings.HasPrefix(err.Error(), role+" "+p.name+": ") || !strings.Contains(err.Error(), "sqluice up") {
			l.Errorf("an older schema of the %s: %v", role, err)
		}
		_, err = store.Migrations().Migrate(l.ctx)
		l.must(err)
	}
	l.moves(l.config())
}

// closeBy closes a place as another move does.
func (l *lab) closeBy(p *place, direction, token, peer string) {
	l.Helper()
	l.write(p, func(ctx context.Context, q db.Querier) error {
		_, err := q.CloseQueue(ctx, db.CloseQueueParams{Direction: direction, Token: token, Peer: peer, Now: early + 1})
		return err
	})
}

func testElsewhere(l *lab) {
	l.enqueue(l.from, 1)
	for _, test := range []struct {
		place     *place
		direction string
		token     string
		texts     []string
	}{
		{l.from, in, "t", []string{"source " + l.from.name, "from elsewhere", "not complete"}},
		{l.from, out, "t", []string{"source " + l.from.name, "to elsewhere", "not complete"}},
		{l.from, out, "t" + markMoved, []string{"source " + l.from.name, "moved to elsewhere on 1973-03-03"}},
		{l.to, in, "t", []string{"target " + l.to.name, "from elsewhere"}},
		{l.to, in, "t" + markPreparing, []string{"target " + l.to.name, "from elsewhere"}},
		{l.to, out, "t" + markCopied, []string{"target " + l.to.name, "moved to elsewhere"}},
	} {
		l.closeBy(test.place, test.direction, test.token, "elsewhere")
		_, err := Run(l.ctx, l.config())
		l.wantError(err, ErrElsewhere, test.texts...)
		l.write(test.place, func(ctx context.Context, q db.Querier) error {
			n, err := q.OpenQueue(ctx, test.token)
			if err == nil && n != 1 {
				l.Errorf("%s is closed by %+v", test.place.name, test)
			}
			return err
		})
	}
	// The source is closed by this move, and the target by another.
	l.closeBy(l.from, out, "t", l.to.name)
	l.closeBy(l.to, in, "u", l.from.name)
	_, err := Run(l.ctx, l.config())
	l.wantError(err, ErrElsewhere, "target "+l.to.name)
}

// at calls a function when a move first reports a step.
func at(doing string, fn func()) func(Progress) {
	return func(p Progress) {
		if fn != nil && p.Doing == doing {
			call := fn
			fn = nil
			call()
		}
	}
}

// The comparison detects a program that ignores the closing.
func testDiffer(l *lab) {
	ids := l.enqueue(l.from, 25)
	c := l.config()
	c.Progress = at("comparing sqluice_jobs", func() {
		l.write(l.from, func(ctx context.Context, q db.Querier) error {
			_, err := q.CancelWaitingJob(ctx, db.CancelWaitingJobParams{Now: time.Now().UnixMicro(), ID: ids[2]})
			return err
		})
	})
	for range 2 {
		report, err := Run(l.ctx, c)
		l.wantError(err, ErrDiffer, "row 3 of sqluice_jobs differs")
		var unfinished *UnfinishedError
		if !errors.As(err, &unfinished) {
			l.Errorf("the move says that it is over: %v", err)
		}
		if len(report.Sums) != 2*len(allTables()) || report.Sums[0].SHA256 == report.Sums[1].SHA256 || report.Sums[2].SHA256 != report.Sums[3].SHA256 {
			l.Errorf("the sums are %+v", report.Sums)
		}
		l.wantClosed(l.from)
		l.wantClosed(l.to)
	}
	l.remove(l.from, ids[2]) // the row that differs
	l.remove(l.to, ids[2])
	l.remove(l.from, ids[3])
	_, err := Run(l.ctx, c)
	l.wantError(err, ErrDiffer, "row 4 of sqluice_jobs is only in the target")
	l.remove(l.to, ids[3])
	l.remove(l.to, ids[4])
	_, err = Run(l.ctx, c)
	l.wantError(err, ErrDiffer, "row 5 of sqluice_jobs is missing in the target")
}

func testOpenedMeanwhile(l *lab) {
	l.enqueue(l.from, 25)
	c := l.config()
	var stillPart error
	c.Progress = at("comparing sqluice_pauses", func() {
		_, stillPart = Reopen(l.ctx, l.side(l.to).Store)
		if _, err := Reopen(l.ctx, l.side(l.from).Store); err != nil {
			l.Error(err)
		}
	})
	_, err := Run(l.ctx, c)
	l.wantError(err, errOpened, "source "+l.from.name)
	l.wantError(stillPart, ErrPart, l.from.name)
	l.wantOpen(l.from)
	l.wantClosed(l.to)
	_, err = Run(l.ctx, l.config())
	l.wantError(err, ErrElsewhere, "target "+l.to.name)
}

// A target that is opened by force, its jobs perhaps running, gets no more rows.
func testTargetOpenedMeanwhile(l *lab) {
	l.enqueue(l.from, 25)
	c := l.config()
	c.Progress = func(p Progress) {
		if p.Doing == "copying sqluice_jobs" && p.Rows == 10 {
			for _, row := range l.closings(l.to) {
				l.write(l.to, func(ctx context.Context, q db.Querier) error {
					_, err := q.OpenQueue(ctx, row.Token)
					return err
				})
			}
		}
	}
	if _, err := Run(l.ctx, c); err == nil || !strings.Contains(err.Error(), "the queue was opened") {
		l.Errorf("the move into an open queue ends with %v", err)
	}
	if n := len(l.everything(l.to).jobs); n != 10 {
		l.Errorf("the target has %d jobs", n)
	}
	l.wantClosed(l.from)
}

// A stop before the first copied row leaves nothing closed; a move that stops later can continue.
func testStopped(l *lab) {
	l.enqueue(l.from, 45)
	for _, doing := range []string{"waiting for transactions on " + l.from.name, "waiting for transactions on " + l.to.name} {
		ctx, stop := context.WithCancel(l.ctx)
		c := l.config()
		c.Progress = at(doing, stop)
		if _, err := Run(ctx, c); !errors.Is(err, context.Canceled) {
			l.Errorf("stopped while %s: %v", doing, err)
		}
		l.wantOpen(l.from)
		l.wantOpen(l.to)
	}
	ctx, stop := context.WithCancel(l.ctx)
	c := l.config()
	var counted int64
	c.Progress = func(p Progress) {
		if p.Doing == "copying sqluice_jobs" && p.Rows == 20 {
			counted = p.Percent
			stop()
		}
	}
	_, err := Run(ctx, c)
	l.wantError(err, context.Canceled)
	var unfinished *UnfinishedError
	if !errors.As(err, &unfinished) {
		l.Errorf("stopped while copying: %v", err)
	}
	if counted != 44 {
		l.Errorf("20 of 45 rows are %d %%", counted)
	}
	if n := len(l.everything(l.to).jobs); n != 20 {
		l.Errorf("the target has %d jobs", n)
	}
	l.wantClosed(l.from)
	l.wantClosed(l.to)
	l.moves(l.config())
	if n := len(l.everything(l.to).jobs); n != 45 {
		l.Errorf("the target has %d jobs", n)
	}
}

func TestJudge(t *testing.T) {
	from, to := Side{Name: "a", role: "source"}, Side{Name: "b", role: "target"}
	source := func(token string) *db.Move { return &db.Move{Direction: out, Token: token, Peer: "b"} }
	target := func(token string) *db.Move { return &db.Move{Direction: in, Token: token, Peer: "a"} }
	for _, test := range []struct {
		from, to *db.Move
		want     step
	}{
		{nil, nil, stepCloseSource},
		{source("t"), nil, stepCloseTarget},
		{source("t"), target("t preparing"), stepCloseTarget},
		{source("t"), target("t"), stepFill},
		{source("t moved"), target("t"), stepFill},
		{source("t copied"), target("t"), stepFill},
		{source("t moved"), nil, stepEnded},
		{source("t copied"), nil, stepEnded},
	} {
		if s, err := nextStep(from, to, test.from, test.to); err != nil || s.step != test.want || test.from != nil && s.token != "t" {
			t.Errorf("%+v, %+v: %+v, %v", test.from, test.to, s, err)
		}
	}
	// A move to a second target has a new token, and the rows in the first target are no part of it.
	for _, pair := range [][2]*db.Move{{source("t"), target("u")}, {source("t moved"), target("t moved")}, {nil, target("t")}} {
		if _, err := nextStep(from, to, pair[0], pair[1]); !errors.Is(err, ErrElsewhere) {
			t.Errorf("%+v, %+v: %v", pair[0], pair[1], err)
		}
	}
}

func testReopen(l *lab) {
	l.enqueue(l.from, 3)
	source := l.side(l.from).Store
	if done, err := Reopen(l.ctx, source); err != nil || done.WasClosed {
		l.Errorf("an open queue: %+v, %v", done, err)
	}
	l.moves(l.config())
	done, err := Reopen(l.ctx, source)
	if err != nil || !done.WasClosed || done.WasTarget || !done.MoveEnded || done.Peer != l.to.name {
		l.Errorf("a source: %+v, %v", done, err)
	}
	if _, err := l.client(l.from).Enqueue(l.ctx, "k", json.RawMessage(`{}`)); err != nil {
		l.Error(err)
	}
	// The next move is another one.
	l.refused(l.config(), ErrNotEmpty)
}

func testReopenTarget(l *lab) {
	for _, test := range []struct {
		token string
		rows  int
		want  error
	}{{"t", 0, nil}, {"t" + markPreparing, 1, nil}, {"t", 1, ErrPart}} {
		if test.rows > 0 && len(l.everything(l.to).jobs) == 0 {
			l.enqueue(l.to, test.rows)
		}
		l.closeBy(l.to, in, test.token, "elsewhere")
		_, err := Reopen(l.ctx, l.side(l.to).Store)
		if !errors.Is(err, test.want) {
			l.Errorf("reopen of a target with %q and %d rows: %v", test.token, test.rows, err)
		}
	}
	l.wantClosed(l.to)
	// A row of any table counts as copied by a move, not only a job.
	l.to.empty(l.T)
	l.write(l.to, func(ctx context.Context, q db.Querier) error {
		_, err := q.ImportUniqueKeys(ctx, fmt.Sprintf(`[["k", "u", %d, %d, null]]`, early+1, early+2))
		return err
	})
	l.closeBy(l.to, in, "t", "elsewhere")
	if _, err := Reopen(l.ctx, l.side(l.to).Store); !errors.Is(err, ErrPart) || !strings.Contains(err.Error(), "unique keys") {
		l.Errorf("reopen of a target with a unique key: %v", err)
	}
}

// A row that the target's own rules refuse is named.
func testRefusedRow(l *lab) {
	l.to.rule(l.T)
	for i := range 40 {
		user := strconv.Itoa(i)
		if i == 30 {
			user = "3"
		}
		_, err := l.client(l.from).Enqueue(l.ctx, "k", json.RawMessage("{}"), jobs.UserID(user))
		l.must(err)
	}
	_, err := Run(l.ctx, l.config())
	if err == nil || !strings.Contains(err.Error(), "add sqluice_jobs 31 to 31") {
		l.Errorf("the error is %v", err)
	}
}
