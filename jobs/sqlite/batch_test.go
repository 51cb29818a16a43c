package sqlite

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/engine"
	sqlgates "github.com/sqluice/sqluice/internal/test/gates"
	"github.com/sqluice/sqluice/jobs"
)

// step is a write of one caller: an insert, or a function that returns the ids of its new jobs.
type step struct {
	name   string
	insert *engine.Insert
	run    func(context.Context, db.Querier) ([]int64, error)
}

// do makes the write. It counts its runs: those of a function, and the statements of an insert.
func (s step) do(store *backend, runs *int) (ids []int64, err error) {
	if s.insert != nil {
		in := *s.insert
		in.Ran = func(string, time.Duration, error) { *runs++ }
		return store.Insert(context.Background(), in)
	}
	err = store.Write(context.Background(), func(ctx context.Context, q db.Querier) (err error) {
		*runs++
		ids, err = s.run(ctx, q)
		return err
	})
	return ids, err
}

// early is the earliest time of a job in microseconds, except 0.
const early = 100_000_000_000_000

func keyless(kind, payload string) db.EnqueueKeylessJobParams {
	return db.EnqueueKeylessJobParams{
		Kind: kind, Queue: "default", Payload: payload, Status: "pending", RunAfter: early + 1000, MaxAttempts: 3, Timeout: 5000, Now: early + 1000,
	}
}

func one(arg db.EnqueueKeylessJobParams) step {
	return step{name: arg.Kind, insert: &engine.Insert{Job: arg}}
}

// anyStep returns a random write of a caller in a shared transaction.
func anyStep(r *rand.Rand, i int) step {
	arg := keyless("k", fmt.Sprintf(`{"n":%d, "s": "é\"\u0000</a>"}`, i))
	switch r.IntN(48) {
	case 0:
		arg.Kind = "other"
	case 1:
		arg.Priority = 5
	case 2:
		arg.UserID = new(fmt.Sprint("user ", r.IntN(2)))
	case 3:
		arg.Status, arg.RunAfter = "scheduled", 1<<50
	case 4:
		arg.Payload = `"` + strings.Repeat("x", batchPayload) + `"`
	case 5:
		arg.Tags = new(`["t"]`)
	case 10:
		arg.Metadata = new(`{"m":1}`)
	case 11:
		arg.Queue = "other"
	case 12:
		arg.MaxAttempts = 9
	case 13:
		arg.Timeout = 6000
	case 14:
		arg.Now, arg.RunAfter = arg.Now+1_000_000, arg.RunAfter+1_000_000
	case 6: // looks for the job that it has added
		return step{name: "looks", run: func(ctx context.Context, q db.Querier) ([]int64, error) {
			id, err := q.EnqueueKeylessJob(ctx, arg)
			if err != nil {
				return nil, err
			}
			job, err := q.GetJob(ctx, id)
			if err == nil && job.Payload != arg.Payload {
				err = fmt.Errorf("job %d is that of %s", id, job.Payload)
			}
			return []int64{id}, err
		}}
	case 9:
		arg.RunAfter = early + 990
	case 7:
		arg := db.EnqueueKeylessJobParams{Kind: "many", Queue: "default", Status: "pending", MaxAttempts: 1, Now: early + 1000}
		return step{name: "many", insert: &engine.Insert{Job: arg, Payloads: payloads(fmt.Sprintf(`["%d","2"]`, i), 2)}}
	case 8:
		return step{name: "unique", run: func(ctx context.Context, q db.Querier) ([]int64, error) {
			id, err := q.EnqueueJob(ctx, db.EnqueueJobParams{
				Kind: "unique", Queue: "default", Payload: fmt.Sprint(i), Status: "pending", MaxAttempts: 1, Now: early + 1000, UniqueKey: new(fmt.Sprint(i)),
			})
			return []int64{id}, err
		}}
	}
	return one(arg)
}

// together runs the steps in one group, and alone each by itself. Both return the ids and the errors by step, together also the
// number of runs of each.
func together(t *testing.T, store *backend, steps []step) (ids [][]int64, errs []error, runs []int) {
	t.Helper()
	ids, runs = make([][]int64, len(steps)), make([]int, len(steps))
	calls := make([]func() error, len(steps))
	for i, s := range steps {
		calls[i] = func() (err error) {
			ids[i], err = s.do(store, &runs[i])
			return err
		}
	}
	errs = pileCalls(t, store, calls...)
	return ids, errs, runs
}

func alone(t *testing.T, store *backend, steps []step) (ids [][]int64, errs []error) {
	t.Helper()
	ids, errs = make([][]int64, len(steps)), make([]error, len(steps))
	for i, s := range steps {
		ids[i], errs[i] = s.do(store, new(int))
	}
	return ids, errs
}

func jobOf(t *testing.T, store *backend, id int64) (job db.Job) {
	t.Helper()
	must(t, store.Read(t.Context(), func(ctx context.Context, q db.Querier) (err error) {
		job, err = q.GetJob(ctx, id)
		return err
	}))
	return job
}

// statementOf returns the text of a generated statement.
func statementOf(t *testing.T, folder, name string) string {
	t.Helper()
	root, err := sqlgates.Root()
	must(t, err)
	list, err := sqlgates.Statements(filepath.Join(root, folder))
	must(t, err)
	for _, s := range list {
		if s.Name == name {
			return "-- name: " + s.Name + " " + s.Command + "\n" + s.SQL
		}
	}
	t.Fatalf("%s has no statement %s", folder, name)
	return ""
}

// addsMany reports whether jobs were inserted by the statement for many.
func addsMany(t *testing.T, store *backend) bool {
	t.Helper()
	w := store.writer.writes
	w.stmts.mu.RLock()
	defer w.stmts.mu.RUnlock()
	return w.stmts.statements.kept[statementOf(t, "db/sqlite", "EnqueueJobs")] != nil
}

// Jobs that callers add together are equal to those that each would have added alone, with any triggers and indexes of an
// application, and any other work in their transaction.
func TestAlikeJobsAreWhatEachWouldBe(t *testing.T) {
	for _, own := range []string{"", "add_beside", "ignore_some_inserts", "replace_some_inserts", "refuse_second_user", "close_queue"} {
		for seed := range uint64(10) {
			t.Run(fmt.Sprint(own, " ", seed), func(t *testing.T) {
				r := rand.New(rand.NewPCG(seed, 0))
				var steps []step
				for i := range 1 + r.IntN(60) {
					steps = append(steps, anyStep(r, i))
				}
				grouped, _ := queue(t)
				single, _ := queue(t)
				if own != "" {
					exec(t, plain(t, grouped.path), own)
					exec(t, plain(t, single.path), own)
				}
				ids, errs, runs := together(t, grouped, steps)
				for i, n := range runs {
					if own == "" && (n > 1 || n == 0 && steps[i].insert == nil) { // a statement is reported to the first whose job it inserts
						t.Errorf("%s, step %d ran %d times", steps[i].name, i, n)
					}
				}
				wantIDs, wantErrs := alone(t, single, steps)
				for i, s := range steps {
					if (errs[i] == nil) != (wantErrs[i] == nil) {
						t.Fatalf("%s, step %d: the error is %v in a group and %v alone", s.name, i, errs[i], wantErrs[i])
					}
					if errs[i] != nil {
						continue
					}
					if !reflect.DeepEqual(ids[i], wantIDs[i]) {
						t.Fatalf("%s, step %d: the ids are %d in a group and %d alone", s.name, i, ids[i], wantIDs[i])
					}
					for _, id := range ids[i] {
						if job, want := jobOf(t, grouped, id), jobOf(t, single, id); !reflect.DeepEqual(job, want) {
							t.Errorf("%s, step %d: %+v\nis not %+v", s.name, i, job, want)
						}
					}
				}
				for _, store := range []*backend{grouped, single} {
					if left := store.writer.writes.batch.Jobs(); len(left) > 0 {
						t.Errorf("something is left: %+v", left)
					}
				}
				if n, want := scan[int64](t, plain(t, grouped.path), "count_jobs"), scan[int64](t, plain(t, single.path), "count_jobs"); n != want {
					t.Errorf("there are %d jobs in place of %d", n, want)
				}
			})
		}
	}
}

func sumOf(list []int) (sum int) {
	for _, n := range list {
		sum += n
	}
	return sum
}

func alikeSteps(n int) (steps []step) {
	for i := range n {
		steps = append(steps, one(keyless("k", fmt.Sprint(i))))
	}
	return steps
}

func TestAlikeJobsAreAddedByOneStatement(t *testing.T) {
	for n, want := range map[int]bool{1: false, batchLeast - 1: false, batchLeast: true, 40: true} {
		store, _ := queue(t)
		_, errs, runs := together(t, store, alikeSteps(n))
		must(t, errors.Join(errs...))
		if sum := sumOf(runs); want && sum != 1 || !want && sum != n {
			t.Errorf("%d jobs take %d statements", n, sum)
		}
		if addsMany(t, store) != want {
			t.Errorf("%d jobs are added together: %t", n, !want)
		}
	}
}

// Jobs of one statement get the latest of their callers' times, so that no job has a time before its caller's.
func TestAlikeJobsAreOfTheLastOnesTime(t *testing.T) {
	store, _ := queue(t)
	steps := alikeSteps(5)
	for i, now := range []int64{early, early + 1, early + 7, early + 3, early + 5} {
		arg := keyless("k", fmt.Sprint(i))
		arg.Now, arg.RunAfter = now, now
		steps[i] = one(arg)
	}
	ids, errs, _ := together(t, store, steps)
	must(t, errors.Join(errs...))
	for i, want := range []int64{early + 7, early + 7, early + 7, early + 7, early + 7} {
		job := jobOf(t, store, ids[i][0])
		if job.RunAfter != want || job.CreatedAt != want || job.UpdatedAt != want {
			t.Errorf("job %d is of %d, %d and %d, not %d", i, job.RunAfter, job.CreatedAt, job.UpdatedAt, want)
		}
	}
}

// A trigger that adds jobs does not change which id each caller gets.
func TestAlikeJobsBesideATriggerThatAdds(t *testing.T) {
	store, _ := queue(t)
	exec(t, plain(t, store.path), "add_beside")
	ids, errs, runs := together(t, store, alikeSteps(6))
	must(t, errors.Join(errs...))
	for i, list := range ids {
		if job := jobOf(t, store, list[0]); job.Payload != fmt.Sprint(i) || job.Kind != "k" {
			t.Errorf("job %d of caller %d is %+v", list[0], i, job)
		}
	}
	if n := sumOf(runs); n != 1 {
		t.Errorf("they take %d statements", n)
	}
}

// A failed write affects none of the jobs that were added beside it.
func TestAlikeJobsBesideAnError(t *testing.T) {
	store, _ := queue(t)
	no := errors.New("no")
	steps := alikeSteps(9)
	steps[5] = step{name: "no", run: func(ctx context.Context, q db.Querier) ([]int64, error) {
		_, err := q.EnqueueKeylessJob(ctx, keyless("k", "5"))
		return nil, errors.Join(no, err)
	}}
	steps[7] = step{name: "panic", run: func(ctx context.Context, q db.Querier) ([]int64, error) {
		if _, err := q.EnqueueKeylessJob(ctx, keyless("k", "7")); err != nil {
			return nil, err
		}
		panic("oh no")
	}}
	ids, errs, _ := together(t, store, steps)
	for i, list := range ids {
		if i == 5 || i == 7 {
			if errs[i] == nil {
				t.Errorf("write %d gives no error", i)
			}
			continue
		}
		must(t, errs[i])
		if job := jobOf(t, store, list[0]); job.Payload != fmt.Sprint(i) {
			t.Errorf("job %d of caller %d is %+v", list[0], i, job)
		}
	}
	if n := scan[int64](t, plain(t, store.path), "count_jobs"); n != 7 {
		t.Errorf("there are %d jobs", n)
	}
}

// Callers get the reason why a closed queue accepts none of their jobs.
func TestAlikeJobsOfAClosedQueue(t *testing.T) {
	store, client := queue(t)
	exec(t, plain(t, store.path), "close_queue")
	results := make(chan error, 64)
	for range cap(results) {
		go func() {
			_, err := client.Enqueue(context.Background(), "k", []byte("1"))
			results <- err
		}()
	}
	for range cap(results) {
		if err := receive(t, "an enqueue", results); !errors.Is(err, jobs.ErrMoved) {
			t.Errorf("an enqueue gives %v", err)
		}
	}
}

// When SQLite rolls back a transaction by itself, no later statement of it runs, even when the caller ignores the error and goes
// on.
func TestAlikeJobsAfterARollback(t *testing.T) {
	for name, swallow := range map[string]func(context.Context, db.Querier){
		"nothing": func(context.Context, db.Querier) {},
		"a row":   func(ctx context.Context, q db.Querier) { _, _ = q.GetJob(ctx, 12345) },
		"rows":    func(ctx context.Context, q db.Querier) { _, _ = q.ListPauses(ctx) },
		"a write": func(ctx context.Context, q db.Querier) {
			_, _ = q.Pause(ctx, db.PauseParams{Queue: "q", Now: 0})
		},
		"an enqueue": func(ctx context.Context, q db.Querier) {
			other := keyless("k", "4")
			other.Priority = 1
			_, _ = q.EnqueueKeylessJob(ctx, other)
		},
	} {
		t.Run(name, func(t *testing.T) {
			store, _ := queue(t)
			exec(t, plain(t, store.path), "roll_back_insert")
			steps := alikeSteps(8)
			steps[3] = one(keyless("k", `"boom"`))
			steps[4] = step{name: name, run: func(ctx context.Context, q db.Querier) ([]int64, error) {
				swallow(ctx, q)
				id, err := q.EnqueueKeylessJob(ctx, keyless("k", "4"))
				return []int64{id}, err
			}}
			ids, errs, _ := together(t, store, steps)
			jobs := int64(7)
			if name == "an enqueue" {
				jobs++
			}
			for i, err := range errs {
				if (err != nil) != (i == 3) {
					t.Errorf("caller %d gets %v", i, err)
				}
				if err == nil && jobOf(t, store, ids[i][0]).Payload != fmt.Sprint(i) {
					t.Errorf("caller %d was told the id of another's job", i)
				}
			}
			if n := scan[int64](t, plain(t, store.path), "count_jobs"); n != jobs {
				t.Errorf("there are %d jobs in place of %d", n, jobs)
			}
		})
	}
}

// Nor is anything committed of an enqueue whose transaction SQLite has rolled back.
func TestEnqueueThatIsRolledBack(t *testing.T) {
	store, client := queue(t)
	foreign := plain(t, store.path)
	exec(t, foreign, "roll_back_at_random")
	told := int64(0)
	for range 60 {
		if _, err := client.Enqueue(t.Context(), "k", []byte("{}")); err == nil {
			told++
		}
	}
	if n := scan[int64](t, foreign, "count_jobs"); n != told {
		t.Errorf("there are %d jobs, of which somebody was told of %d", n, told)
	}
}

// Among jobs of one statement and others, each caller gets the id of its job.
func TestInsertOfAClaimedJobAmongAlikeJobs(t *testing.T) {
	c := newClaimer(t)
	var steps []step
	for i := range 9 {
		s := one(keyless("k", fmt.Sprint(i)))
		if i == 4 || i == 7 {
			in := claimed(db.EnqueueClaimedJobParams{
				Kind: "k", Queue: "other", Payload: fmt.Sprint(i), RunAfter: 0, MaxAttempts: 1, Now: 0, StartedAt: 0, WorkerID: c.id, Kinds: `["k"]`,
			})
			s.insert = &in
		}
		steps = append(steps, s)
	}
	ids, errs, runs := together(t, c.store, steps)
	must(t, errors.Join(errs...))
	for i, list := range ids {
		if job := jobOf(t, c.store, list[0]); job.Payload != fmt.Sprint(i) || (job.Status == "running") != (i == 4 || i == 7) {
			t.Errorf("job %d of caller %d is %+v", list[0], i, job)
		}
	}
	if n := sumOf(runs); n != 6 { // one for the first four, and one for each of the others
		t.Errorf("they take %d statements", n)
	}
}

// A queue that declines a job gives its caller the error, and the others their jobs.
func TestDeclinedJobAmongAlikeJobs(t *testing.T) {
	c := newClaimer(t)
	steps := alikeSteps(6)
	in := claimed(db.EnqueueClaimedJobParams{Kind: "k", Queue: "default", Payload: "2", RunAfter: 0, MaxAttempts: 1, Now: 0, StartedAt: 0, WorkerID: 12345, Kinds: `["k"]`})
	steps[2].insert = &in
	ids, errs, _ := together(t, c.store, steps)
	for i, err := range errs {
		if i == 2 {
			if !errors.Is(err, engine.ErrDeclined) {
				t.Errorf("the declined job gives %v", err)
			}
			continue
		}
		must(t, err)
		if job := jobOf(t, c.store, ids[i][0]); job.Payload != fmt.Sprint(i) {
			t.Errorf("job %d of caller %d is %+v", ids[i][0], i, job)
		}
	}
	if n := scan[int64](t, plain(t, c.store.path), "count_jobs"); n != 5 {
		t.Errorf("there are %d jobs", n)
	}
}
