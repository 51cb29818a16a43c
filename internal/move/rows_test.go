package move

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/jobs"
)

// early is the first time after the time 0 that a column holds.
const early int64 = 100_000_000_000_000

func ptr[T any](v T) *T { return &v }

const (
	nasty = "\x01\x1b[31m \t\r\n\"\\'`<a href=\"x\">&amp;\u2028\u00a0\u202e\U0001F600e\u0301%_$1{}[],null\x7f"

	// nastyName is the same without control characters, which names do not have.
	nastyName = "[31m \"\\'`<a href=\"x\">&amp;\u2028\u00a0\u202e\U0001F600e\u0301%_$1{}[],null"
)

// fillIn gives a value to each column of a row that has none yet: to one that is new.
func fillIn(row *db.Job) {
	v := reflect.ValueOf(row).Elem()
	for i := range v.NumField() {
		field := v.Field(i)
		if !field.IsZero() {
			continue
		}
		if field.Kind() == reflect.Pointer {
			field.Set(reflect.New(field.Type().Elem()))
			field = field.Elem()
		}
		switch {
		case strings.HasSuffix(v.Type().Field(i).Name, "At"):
			field.SetInt(early)
		case field.CanInt():
			field.SetInt(1)
		default:
			field.SetString("new")
		}
	}
}

// oddities returns rows at the bounds of the schema, with NULL beside empty values.
func oddities() everything {
	job := func(id int64, status jobs.Status, change func(*db.Job)) db.Job {
		j := db.Job{
			ID: id, Kind: "k", Payload: "{}", Status: string(status), CreatedAt: early + 1, UpdatedAt: early + 2, RunAfter: 100_000_000_000_000,
			Queue: "default", MaxAttempts: 25,
		}
		change(&j)
		return j
	}
	same := func(*db.Job) {}
	const last int64 = 253_402_300_799_999_999 // the end of the year 9999
	list := []db.Job{
		job(1, jobs.StatusPending, same),
		job(2, jobs.StatusDone, func(j *db.Job) {
			j.Kind, j.Queue = strings.Repeat("\U0001F600", 200), nastyName
			j.Payload = "{\"a\": [1, 2.50, 1e400, -0, 123456789012345678901234567890, \"x'y\"],\t\"a\": null,  \"\": \"\\/ \\u2028\"}\n"
			j.Attempt, j.Uncounted, j.Crashes = 1_000_000_000, 3, 2
			j.CreatedAt, j.UpdatedAt = 0, last
			j.StartedAt, j.FinishedAt = ptr[int64](0), ptr(last)
			j.Priority, j.MaxAttempts, j.Timeout = -32768, 32767, 9_223_372_036_854_775
			j.WorkerID, j.LeaseUntil, j.CancelRequestedAt = ptr[int64](1<<53-1), ptr(last), ptr[int64](0)
			j.LastError = ptr(nasty)
			j.UniqueKey, j.RequestID, j.UserID = ptr(nastyName), ptr(nastyName+"r"), ptr(" ")
			j.Tags, j.Metadata = ptr(`["a",""]`), ptr(`"`+strings.Repeat("\u00e9", 1000)+`"`)
			j.Progress, j.Result, j.StartBy = ptr(`0`), ptr(`null`), ptr[int64](100_000_000_000_000)
			fillIn(j)
			j.SuccessorAt = nil // only a scheduled job has one
		}),
		job(3, jobs.StatusFailed, func(j *db.Job) {
			j.LastError, j.FinishedAt, j.Payload = ptr(""), ptr(early+7), `"\u0000 \ud800"`
		}),
		job(5, jobs.StatusCancelled, func(j *db.Job) { j.CancelRequestedAt, j.FinishedAt = ptr[int64](0), ptr(early+8) }),
		job(6, jobs.StatusScheduled, func(j *db.Job) { j.RunAfter, j.StartBy, j.UniqueKey = last, ptr(last), ptr("live") }),
		job(7, jobs.StatusScheduled, func(j *db.Job) { j.Attempt, j.LastError = 4, ptr("retried") }), // overdue
		job(10, jobs.StatusScheduled, func(j *db.Job) {
			j.RunAfter, j.UniqueKey, j.SuccessorAt = last, ptr("live"), ptr[int64](100_000_000_000_001)
		}),
		job(8, jobs.StatusPending, func(j *db.Job) { j.UniqueKey, j.RequestID, j.Priority = ptr("due"), ptr("once"), 32767 }),
		job(9, jobs.StatusDone, func(j *db.Job) { j.UniqueKey, j.FinishedAt = ptr("due"), ptr(early+9) }), // not live
		job(1<<51, jobs.StatusPending, func(j *db.Job) { j.Payload = strings.Repeat("[", 200) + strings.Repeat("]", 200) }),
		job(1<<52, jobs.StatusPending, same),
	}
	for id := int64(100); id < 135; id++ { // more than three small batches
		list = append(list, job(id, jobs.StatusPending, same))
	}
	all := everything{jobs: list}
	for i, cause := range []string{"error", "panic", "timeout", "crash", "lost", "expired"} {
		all.errors = append(all.errors, db.JobError{
			ID: int64(2*i + 1), JobID: 3, Attempt: int64(i), EndedAt: last, Cause: cause, Message: nasty, Stack: "a\n\tb:1\n",
		})
	}
	all.errors = append(all.errors, db.JobError{
		ID: 1 << 52, JobID: 2, Attempt: 1, WorkerID: ptr[int64](1), StartedAt: ptr[int64](0), Cause: "error",
	})
	for i, reason := range []string{"stopped", "crash", "lost"} {
		all.workers = append(all.workers, db.Worker{
			ID: int64(3*i + 2), Name: nastyName, LockKey: "key", Host: "", Pid: 0, Version: nasty, Queues: `{"default": 10}`, Kinds: `["k"]`,
			StartedAt: early + 1, HeartbeatAt: early + 2, LeaseUntil: 0, EndedAt: ptr(last), EndReason: ptr(reason), Schedules: `["s"]`, Declares: `["x"]`,
		})
	}
	all.audit = []db.JobAudit{
		{ID: 2, At: 0, Actor: nastyName, Action: "pause", Queue: ptr(nastyName)},
		{ID: 3, At: last, Actor: "a", Action: "delete", JobID: ptr[int64](1<<53 - 1), Kind: ptr("k"), Queue: ptr("q"), Jobs: 1},
		{ID: 1 << 52, At: early + 1, Actor: "\U0001F600", Action: "retry", Jobs: 2, JobIds: ptr("[1,2]"), Detail: ptr(`{"filter": {}}`)},
	}
	all.marks = map[[2]string]bool{{"k", "*"}: true, {nastyName, "\u00e9.*." + nastyName}: true}
	all.pauses = []db.Pause{
		{Queue: "Z", UpdatedAt: early + 5},
		{Queue: "Z", Kind: "k", PausedAt: 0, UpdatedAt: last},
		{Queue: "a", PausedAt: early + 6, PausedUntil: ptr(last), PausedBy: ptr(nastyName), Reason: ptr(nasty), UpdatedAt: early + 6},
		{Queue: "\u00e9", Kind: nastyName, PausedAt: early + 6, PausedUntil: ptr(last), PausedBy: ptr(nastyName), UpdatedAt: early + 6},
	}
	all.rules = []db.Retention{
		{Status: "failed", Origin: "client", UpdatedAt: last},
		{Kind: "k", Status: "done", Keep: ptr[int64](1_000_000), Origin: "client", UpdatedBy: ptr(nastyName), UpdatedAt: early + 1},
		{Kind: "k", Status: "done", Keep: ptr[int64](7_000_000), Origin: "code"},
		{Queue: "\u00e9", Kind: nastyName, Status: "cancelled", Keep: ptr[int64](3_153_600_000_000_000), Origin: "client"},
	}
	all.declared = []db.Declaration{
		{ID: strings.Repeat("0a", 16), Subject: "kind", Name: nastyName, Body: `{"keep": "forever"}`, Ordinal: 2, InForce: 1, DeclaredAt: early + 1, SeenAt: last},
		{ID: strings.Repeat("f", 32), Subject: "schedule", Name: "\u00e9", Body: "{}", Ordinal: 1, SeenAt: early + 1},
	}
	all.schedules = []db.Schedule{
		{Name: "Z", Kind: "k", Queue: "q", Payload: "{}", Options: `{"priority": 5}`, Spec: "* * * * *", Zone: "UTC", CatchUp: "latest", Overlap: "allow", Origin: "client"},
		{Name: "\u00e9", Kind: nastyName, Queue: nastyName, Payload: `[1, 2.50]`, Options: "{}", Spec: nastyName, Zone: nastyName, CatchUp: "all:999",
			Overlap: "replace", Origin: "code", StartAt: last, NextAt: last, OwedAt: ptr(last), LastAt: ptr[int64](0), LastJobID: ptr[int64](1<<53 - 1),
			PausedAt: ptr(early + 1), Fault: ptr(nasty), Version: 1_000_000_000_000, CreatedAt: last, UpdatedAt: early + 1},
	}
	for i := range int64(250) { // more than one statement adds
		all.ticks = append(all.ticks, db.ScheduleTick{Schedule: "Z", Tick: early + i, Outcome: "missed", At: early + i})
	}
	all.ticks = append(all.ticks, db.ScheduleTick{
		Schedule: "\u00e9", Tick: last, Outcome: "enqueued", Since: ptr[int64](0), JobID: ptr[int64](1), ReplacedID: ptr[int64](1<<53 - 1), At: last,
	})
	all.keys = []db.UniqueKey{
		{Kind: "Z", UniqueKey: "u", TakenAt: early + 1, Until: last, JobID: ptr[int64](1<<53 - 1)}, {Kind: "\u00e9", UniqueKey: nastyName, Until: early + 2},
	}
	return all
}

// put adds rows with all their columns.
func (l *lab) put(p *place, all everything) {
	l.Helper()
	put := func(add func(db.Querier, context.Context, string) (int64, error), n int, item func(int) any) {
		var rows []row
		for i := range n {
			text, err := encode(item(i))
			l.must(err)
			rows = append(rows, row{text: text})
		}
		l.write(p, func(ctx context.Context, q db.Querier) error {
			_, err := add(q, ctx, listOf(rows))
			return err
		})
	}
	put(db.Querier.ImportJobs, len(all.jobs), func(i int) any { return all.jobs[i] })
	put(db.Querier.ImportJobErrors, len(all.errors), func(i int) any { return all.errors[i] })
	put(db.Querier.ImportWorkers, len(all.workers), func(i int) any { return all.workers[i] })
	put(db.Querier.ImportAudit, len(all.audit), func(i int) any { return all.audit[i] })
	var marks [][2]string
	for mark := range all.marks {
		marks = append(marks, mark)
	}
	items, err := json.Marshal(append([][2]string{}, marks...))
	l.must(err)
	l.write(p, func(ctx context.Context, q db.Querier) error {
		_, err := q.AddSensitiveFields(ctx, db.AddSensitiveFieldsParams{Now: early + 1, Items: string(items)})
		return err
	})
	put(db.Querier.ImportSchedules, len(all.schedules), func(i int) any { return all.schedules[i] })
	put(db.Querier.ImportScheduleTicks, len(all.ticks), func(i int) any { return all.ticks[i] })
	put(db.Querier.ImportUniqueKeys, len(all.keys), func(i int) any { return all.keys[i] })
	put(db.Querier.ImportPauses, len(all.pauses), func(i int) any { return all.pauses[i] })
	put(db.Querier.ImportDeclarations, len(all.declared), func(i int) any { return all.declared[i] })
	put(db.Querier.ImportRetentions, len(all.rules), func(i int) any { return all.rules[i] })
}

// wantEverything compares a place with the expected content, field by field.
func (l *lab) wantEverything(p *place, want everything) {
	l.Helper()
	have := l.everything(p)
	byID := map[int64]db.Job{}
	for _, j := range have.jobs {
		byID[j.ID] = j
	}
	for _, j := range want.jobs {
		if !reflect.DeepEqual(byID[j.ID], j) {
			h, _ := encode(byID[j.ID])
			w, _ := encode(j)
			l.Errorf("job %d is\n%s, not\n%s", j.ID, h, w)
		}
	}
	if len(have.jobs) != len(want.jobs) {
		l.Errorf("%d jobs, not %d", len(have.jobs), len(want.jobs))
	}
	if len(have.errors)+len(want.errors) > 0 && !reflect.DeepEqual(have.errors, want.errors) {
		l.Errorf("errors are\n%+v, not\n%+v", have.errors, want.errors)
	}
	if len(have.workers)+len(want.workers) > 0 && !reflect.DeepEqual(have.workers, want.workers) {
		l.Errorf("workers are\n%+v, not\n%+v", have.workers, want.workers)
	}
	if len(have.audit)+len(want.audit) > 0 && !reflect.DeepEqual(have.audit, want.audit) {
		l.Errorf("changes are\n%+v, not\n%+v", have.audit, want.audit)
	}
	if !maps.Equal(have.marks, want.marks) {
		l.Errorf("sensitive fields are\n%+v, not\n%+v", have.marks, want.marks)
	}
	if len(have.schedules)+len(want.schedules) > 0 && !reflect.DeepEqual(have.schedules, want.schedules) {
		l.Errorf("schedules are\n%+v, not\n%+v", have.schedules, want.schedules)
	}
	if len(have.ticks)+len(want.ticks) > 0 && !reflect.DeepEqual(have.ticks, want.ticks) {
		l.Errorf("ticks are\n%+v, not\n%+v", have.ticks, want.ticks)
	}
	if len(have.keys)+len(want.keys) > 0 && !reflect.DeepEqual(have.keys, want.keys) {
		l.Errorf("unique keys are\n%+v, not\n%+v", have.keys, want.keys)
	}
	if len(have.rules)+len(want.rules) > 0 && !reflect.DeepEqual(have.rules, want.rules) {
		l.Errorf("the rules of retention are\n%+v, not\n%+v", have.rules, want.rules)
	}
	if len(have.declared)+len(want.declared) > 0 && !reflect.DeepEqual(have.declared, want.declared) {
		l.Errorf("the declarations are\n%+v, not\n%+v", have.declared, want.declared)
	}
	if len(have.pauses)+len(want.pauses) > 0 && !reflect.DeepEqual(have.pauses, want.pauses) {
		l.Errorf("the pauses are\n%+v, not\n%+v", have.pauses, want.pauses)
	}
}

func testEveryColumn(l *lab) {
	all := oddities()
	l.put(l.from, all)
	report := l.moves(l.config())
	l.wantEverything(l.to, all)
	l.wantEverything(l.from, all)
	l.wantOpen(l.to)
	l.wantClosed(l.from)

	rows := map[string]int64{
		"sqluice_jobs": int64(len(all.jobs)), "sqluice_job_errors": int64(len(all.errors)),
		"sqluice_workers": int64(len(all.workers)), "sqluice_pauses": int64(len(all.pauses)), "sqluice_job_audit": int64(len(all.audit)),
		"sqluice_schedules": int64(len(all.schedules)), "sqluice_schedule_ticks": int64(len(all.ticks)),
		"sqluice_unique_keys":  int64(len(all.keys)),
		"sqluice_retentions":   int64(len(all.rules)),
		"sqluice_declarations": int64(len(all.declared)),
	}
	sums := map[string]Sum{}
	for _, sum := range report.Sums {
		sums[sum.Role+" "+sum.Table] = sum
	}
	for table, n := range rows {
		source, target := sums["source "+table], sums["target "+table]
		if source.Rows != n || target.Rows != n || source.SHA256 != target.SHA256 || len(source.SHA256) != 64 {
			l.Errorf("%s has %d rows: %+v, %+v", table, n, source, target)
		}
	}
}

// The sums depend on the rows alone: not on the engine, not on the path of the rows.
func testThereAndBack(l *lab) {
	l.put(l.from, oddities())
	first := l.moves(l.config())
	back := l.fromEngine.place(l.T)
	second := l.moves(Config{From: l.side(l.to), To: l.side(back), batch: 7})
	l.wantEverything(back, oddities())
	if !reflect.DeepEqual(first.Sums, second.Sums) {
		l.Errorf("sums are\n%+v, then\n%+v", first.Sums, second.Sums)
	}
	l.wantClosed(l.to)
	l.wantOpen(back)
}

// Such a row exists when the clock of the source is ahead.
func testPendingStaysPending(l *lab) {
	soon := l.side(l.to).Store.Now().AddDate(1, 0, 0).UnixMicro()
	all := everything{}
	for id := int64(1); id <= 25; id++ {
		status := []jobs.Status{jobs.StatusPending, jobs.StatusScheduled}[id%2]
		all.jobs = append(all.jobs, db.Job{
			ID: id, Kind: "k", Payload: "{}", Status: string(status), CreatedAt: early + 1, UpdatedAt: early + 1, RunAfter: soon, Queue: "q", MaxAttempts: 1,
		})
	}
	l.put(l.from, all)
	l.moves(l.config())
	l.wantEverything(l.to, all)
}

// nextIDs adds a job and a worker, and removes the job.
func (l *lab) nextIDs(p *place) (job, worker int64) {
	l.Helper()
	store := l.side(p).Store
	job = l.enqueue(p, 1)[0]
	l.write(p, func(ctx context.Context, q db.Querier) (err error) {
		now := store.Now().UnixMicro()
		worker, err = q.RegisterWorker(ctx, db.RegisterWorkerParams{Name: "w", Queues: "{}", Kinds: "[]", Now: now, LeaseUntil: now})
		if err != nil {
			return err
		}
		_, err = q.EndWorker(ctx, db.EndWorkerParams{Now: now, EndReason: "stopped", ID: worker})
		return err
	})
	l.must(l.client(p).Delete(l.ctx, job))
	return job, worker
}

// An id is never given twice, on whichever side the queue is, also when the rows with the largest ids are deleted.
func testIDsAreNeverGivenTwice(l *lab) {
	l.enqueue(l.from, 20)
	oldJob, oldWorker := l.nextIDs(l.from)
	l.write(l.from, func(ctx context.Context, q db.Querier) error {
		for id := int64(15); id <= 20; id++ {
			if _, err := q.DeleteJob(ctx, db.DeleteJobParams{ID: id}); err != nil {
				return err
			}
		}
		_, err := q.DeleteEndedWorkers(ctx, math.MaxInt64)
		return err
	})
	l.moves(l.config())
	job, worker := l.nextIDs(l.to)
	if job <= oldJob || worker <= oldWorker {
		l.Errorf("after job %d and worker %d come %d and %d", oldJob, oldWorker, job, worker)
	}
	if n := len(l.everything(l.to).jobs); n != 14 {
		l.Errorf("%d jobs", n)
	}
}

func testIDsOfTheTargetAreNeverGivenTwice(l *lab) {
	for _, id := range l.enqueue(l.to, 30) {
		l.must(l.client(l.to).Delete(l.ctx, id))
	}
	oldJob, oldWorker := l.nextIDs(l.to)
	l.enqueue(l.from, 3)
	l.moves(l.config())
	job, worker := l.nextIDs(l.to)
	if job <= oldJob || worker <= oldWorker {
		l.Errorf("after job %d and worker %d come %d and %d", oldJob, oldWorker, job, worker)
	}
}

// A target that was first tried out with a worker has rows of workers.
func testEndedWorkersOfTheTargetMakeRoom(l *lab) {
	for range 3 {
		l.nextIDs(l.to)
	}
	all := oddities()
	all.workers[0].ID = 1
	l.put(l.from, all)
	l.moves(l.config())
	l.wantEverything(l.to, all)
}

func TestTextThatNotEveryEngineKeeps(t *testing.T) {
	for name, item := range map[string]any{
		"Payload":   db.Job{Payload: "\"\xff\""},
		"LastError": db.Job{LastError: ptr("a\x00b")},
		"Stack":     db.JobError{Stack: "\xed\xa0\x80"}, // a surrogate
		"Queue":     db.Pause{Queue: "\xc3"},
	} {
		if _, err := encode(item); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if text, err := encode(db.Pause{Queue: "\u2028<&>"}); err != nil || string(text) != "[\"\\u2028<&>\",\"\",0,null,null,null,0]" {
		t.Errorf("%s, %v", text, err)
	}
	_, err := encodeRows("job", []db.Job{{ID: 7, Kind: "\xff"}}, nil, func(j db.Job) row { return row{id: j.ID} })
	if err == nil || !strings.HasPrefix(err.Error(), "job 7: ") {
		t.Errorf("the error does not name the row: %v", err)
	}
	broken := errors.New("broken")
	if _, err := encodeRows("job", []db.Job(nil), broken, func(db.Job) row { return row{} }); !errors.Is(err, broken) {
		t.Errorf("an error is lost: %v", err)
	}
}

// Large rows go in transactions of a few megabytes, and not all of them are read at once.
func TestBatchesOfLargeRows(t *testing.T) {
	l := &lab{T: t, ctx: t.Context(), stores: map[*place]jobs.Store{}}
	p := sqliteEngine(t).place(t)
	large := json.RawMessage(`"` + strings.Repeat("x", jobs.MaxPayload-2) + `"`)
	l.enqueue(p, 150)
	for range 10 {
		_, err := l.client(p).EnqueueMany(l.ctx, "k", []json.RawMessage{large, large, large})
		l.must(err)
	}
	l.enqueue(p, 700)
	r := newReader(l.side(p), tables()[0], first)
	var batches, rows int
	for {
		batch, err := nextBatch(l.ctx, r, mostInBatch)
		l.must(err)
		if len(batch) == 0 {
			break
		}
		batches++
		rows += len(batch)
		// The page in which the rows become large is read before that is known.
		if size := bytesOf(batch); batches > 1 && size > 2*mostBytes {
			t.Errorf("batch %d has %d bytes", batches, size)
		}
		if len(batch) > mostInBatch {
			t.Errorf("batch %d has %d rows", batches, len(batch))
		}
	}
	if rows != 880 {
		t.Errorf("%d rows were read", rows)
	}
}
