package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/jobs"
)

// A job is the same whichever statement adds it.
func TestQuickEnqueueAddsTheSame(t *testing.T) {
	store, _ := queue(t)
	for name, arg := range map[string]db.EnqueueKeylessJobParams{
		"little": {Kind: "k", Queue: "default", Payload: "{}", Status: "pending", RunAfter: 1, MaxAttempts: 1, Now: 1},
		"much": {
			Kind: "kind", Queue: "queue", Payload: `{"n": 1, "s": "\u00e9"}`, Status: "scheduled", Priority: -3, RunAfter: 1 << 50, MaxAttempts: 7,
			Timeout: 5, UserID: new("user"), Tags: new(`["a"]`), Metadata: new(`{"m": null}`), Now: 12345,
		},
	} {
		var quick, usual db.Job
		must(t, store.Write(t.Context(), func(ctx context.Context, q db.Querier) error {
			w := q.(*writes)
			one, err := w.EnqueueKeylessJob(ctx, arg)
			must(t, err)
			other, err := w.Queries.EnqueueKeylessJob(ctx, arg)
			must(t, err)
			if other != one+1 {
				t.Errorf("%s: the ids are %d and %d", name, one, other)
			}
			quick, err = q.GetJob(ctx, one)
			must(t, err)
			usual, err = q.GetJob(ctx, other)
			return err
		}))
		if quick.Kind != arg.Kind || quick.Payload != arg.Payload {
			t.Errorf("%s: the job is %+v", name, quick)
		}
		quick.ID = usual.ID
		if !reflect.DeepEqual(quick, usual) {
			t.Errorf("%s: %+v\nis not %+v", name, quick, usual)
		}
	}
}

// A refused enqueue returns the same error as the general statement, and earlier writes of the transaction are kept.
func TestQuickEnqueueThatIsRefused(t *testing.T) {
	for name, want := range map[string]error{"close_queue": jobs.ErrMoved, "ignore_inserts": nil, "refuse_second_user": nil} {
		t.Run(name, func(t *testing.T) {
			store, client := queue(t)
			enqueue(t, client, "before")
			exec(t, plain(t, store.Path()), name)
			_, err := client.Enqueue(t.Context(), "k", []byte("{}"), jobs.UserID("u"))
			if name == "refuse_second_user" {
				must(t, err)
				_, err = client.Enqueue(t.Context(), "k", []byte("{}"), jobs.UserID("u"))
			}
			if err == nil || want != nil && !errors.Is(err, want) {
				t.Errorf("an enqueue gives %v", err)
			}
			var kept int64
			must(t, store.Write(t.Context(), func(ctx context.Context, q db.Querier) error {
				n, err := q.PauseQueue(ctx, db.PauseQueueParams{Name: "kept", Now: 1})
				if err != nil {
					return err
				}
				kept = n
				_, err = q.EnqueueKeylessJob(ctx, db.EnqueueKeylessJobParams{
					Kind: "k", Queue: "default", Payload: "{}", Status: "pending", MaxAttempts: 1, UserID: new("u"), Now: 1,
				})
				if err == nil {
					t.Error("a refused enqueue gives no error")
				}
				return nil
			}))
			if kept != 1 || !added(t, store)["kept"] {
				t.Error("what came before a refused enqueue is gone")
			}
		})
	}
}

// A job that is added claimed is the same whichever statement adds it, and is refused by both.
func TestQuickEnqueueOfAClaimedJobAddsTheSame(t *testing.T) {
	c := newClaimer(t)
	pool := plain(t, c.store.Path())
	little := db.EnqueueClaimedJobParams{
		Kind: "k", Queue: "default", Payload: "{}", RunAfter: 1, MaxAttempts: 1, Now: 1, WorkerID: c.id, StartedAt: 2, LeaseUntil: 3, Kinds: `["k"]`,
	}
	much := db.EnqueueClaimedJobParams{
		Kind: "kind", Queue: "queue", Payload: `{"n": 1, "s": "\u00e9"}`, Priority: -3, RunAfter: 5, MaxAttempts: 7, Timeout: 5, UserID: new("user"),
		Tags: new(`["a"]`), Metadata: new(`{"m": null}`), Now: 12345, WorkerID: c.id, StartedAt: 12346, LeaseUntil: 99999, Kinds: `["kind"]`,
	}
	both := func(what string, arg db.EnqueueClaimedJobParams, refused bool) {
		t.Helper()
		c.write(t, func(ctx context.Context, q db.Querier) error {
			w := q.(*writes)
			quick, err := w.EnqueueClaimedJob(ctx, arg)
			usual, err2 := w.Queries.EnqueueClaimedJob(ctx, arg)
			if refused {
				if !errors.Is(err, sql.ErrNoRows) || !errors.Is(err2, sql.ErrNoRows) {
					t.Errorf("%s: the errors are %v and %v", what, err, err2)
				}
				return nil
			}
			must(t, errors.Join(err, err2))
			one, err := q.GetJob(ctx, quick.ID)
			must(t, err)
			other, err := q.GetJob(ctx, usual.ID)
			must(t, err)
			if other.ID != one.ID+1 {
				t.Errorf("%s: the ids are %d and %d", what, one.ID, other.ID)
			}
			one.ID, quick.ID = other.ID, usual.ID
			if one.Status != "running" || one.Attempt != 1 || one.WorkerID == nil || one.LeaseUntil == nil || *one.LeaseUntil != arg.LeaseUntil {
				t.Errorf("%s: the job is %+v", what, one)
			}
			if !reflect.DeepEqual(one, other) {
				t.Errorf("%s: %+v\nis not %+v", what, one, other)
			}
			if !reflect.DeepEqual(quick, usual) {
				t.Errorf("%s: what is returned, %+v\nis not %+v", what, quick, usual)
			}
			return nil
		})
	}
	both("little", little, false)
	both("much", much, false)
	unknownWorker := little
	unknownWorker.WorkerID = 12345
	both("no worker", unknownWorker, true)
	c.add(t, "k", 0, 1)
	both("a job waits", little, true)
	both("a job waits in another queue", much, false)
	c.write(t, func(ctx context.Context, q db.Querier) error {
		_, err := q.PauseQueue(ctx, db.PauseQueueParams{Name: "queue", Now: 1})
		return err
	})
	both("paused", much, true)
	c.write(t, func(ctx context.Context, q db.Querier) error {
		_, err := q.ResumeQueue(ctx, db.ResumeQueueParams{Name: "queue", Now: 1})
		return err
	})
	both("resumed", much, false)
	exec(t, pool, "close_queue")
	both("closed by a move", much, true)
	c = newClaimer(t)
	little.WorkerID = c.id
	c.write(t, func(ctx context.Context, q db.Querier) error {
		_, err := q.EndWorker(ctx, db.EndWorkerParams{Now: 1, EndReason: "lost", ID: c.id})
		return err
	})
	both("an ended worker", little, true)
}

// Whatever a trigger changes of a job that is added claimed is noticed.
func TestClaimedJobThatATriggerChanges(t *testing.T) {
	c := newClaimer(t)
	exec(t, plain(t, c.store.Path()), "change_one_column")
	for _, column := range []string{
		"nothing", "kind", "queue", "payload", "status", "priority", "run_after", "max_attempts", "timeout", "unique_key", "request_id", "user_id",
		"tags", "metadata", "attempt", "worker_id",
	} {
		arg := db.EnqueueClaimedJobParams{Kind: "k", Queue: column, Payload: `"` + column + `"`, MaxAttempts: 1, WorkerID: c.id, Kinds: `["k"]`}
		c.write(t, func(ctx context.Context, q db.Querier) error {
			row, err := q.EnqueueClaimedJob(ctx, arg)
			if unchanged := row.Kind == "k"; unchanged != (column == "nothing") {
				t.Errorf("a trigger changes %s: the job is as given: %t", column, unchanged)
			}
			return err
		})
	}
}

// Among jobs that wait for each other each has the id that its caller was told.
func TestEnqueueOfAClaimedJobAmongAlikeJobs(t *testing.T) {
	c := newClaimer(t)
	var ids []int64
	enqueue := func(ctx context.Context, q db.Querier) error {
		id, err := q.EnqueueKeylessJob(ctx, keyless("k", fmt.Sprint(len(ids))))
		ids = append(ids, id)
		return err
	}
	claimed := func(ctx context.Context, q db.Querier) error {
		row, err := q.EnqueueClaimedJob(ctx, db.EnqueueClaimedJobParams{
			Kind: "k", Queue: "other", Payload: fmt.Sprint(len(ids)), RunAfter: 1, MaxAttempts: 1, Now: 1, WorkerID: c.id, Kinds: `["k"]`,
		})
		ids = append(ids, row.ID)
		return err
	}
	for i, err := range pile(t, c.store, enqueue, enqueue, enqueue, enqueue, claimed, enqueue, enqueue, claimed, enqueue) {
		if err != nil {
			t.Errorf("function %d gives %v", i, err)
		}
	}
	for i, id := range ids[max(0, len(ids)-9):] { // the last run's
		if job := c.job(t, id); string(job.Payload) != fmt.Sprint(len(ids)-min(9, len(ids))+i) {
			t.Errorf("job %d, the id of payload %d, has %s", id, i, job.Payload)
		}
	}
	if len(ids) != 9 {
		t.Errorf("the functions ran %d times", len(ids))
	}
}

// Many jobs are the same whichever statement adds them, and their ids are theirs.
func TestQuickEnqueueManyAddsTheSame(t *testing.T) {
	store, _ := queue(t)
	for name, arg := range map[string]db.EnqueueJobsParams{
		"little": {Kind: "k", Queue: "default", Payloads: `["{}","[1]"]`, Status: "pending", RunAfter: 1, MaxAttempts: 1, Now: 1},
		"much": {
			Kind: "kind", Queue: "queue", Payloads: `["{\"s\": \"\\u00e9\"}","2"]`, Status: "scheduled", Priority: -3, RunAfter: 1 << 50, MaxAttempts: 7,
			Timeout: 5, UserID: new("user"), Tags: new(`["a"]`), Metadata: new(`{"m": null}`), Now: 12345,
		},
	} {
		must(t, store.Write(t.Context(), func(ctx context.Context, q db.Querier) error {
			w := q.(*writes)
			quick, err := w.EnqueueJobs(ctx, arg)
			must(t, err)
			usual, err := w.Queries.EnqueueJobs(ctx, arg)
			must(t, err)
			if len(quick) != 2 || len(usual) != 2 || w.uncounted {
				t.Fatalf("%s: the ids are %d and %d", name, quick, usual)
			}
			for i := range quick {
				one, err := q.GetJob(ctx, quick[i])
				must(t, err)
				other, err := q.GetJob(ctx, usual[i])
				must(t, err)
				one.ID = other.ID
				if !reflect.DeepEqual(one, other) {
					t.Errorf("%s: %+v\nis not %+v", name, one, other)
				}
			}
			return nil
		}))
	}
}

// A trigger of the application adds jobs too: the ids that an enqueue returns are still those of its own.
func TestEnqueueManyBesideATriggerThatAdds(t *testing.T) {
	store, client := queue(t)
	enqueue(t, client, "before")
	exec(t, plain(t, store.Path()), "add_beside")
	for range 2 { // the second time it is known
		payloads := []json.RawMessage{[]byte("0"), []byte("1"), []byte("2")}
		ids, err := client.EnqueueMany(t.Context(), "k", payloads)
		must(t, err)
		if len(ids) != len(payloads) {
			t.Fatalf("the ids are %d", ids)
		}
		for i, id := range ids {
			if job, err := client.Get(t.Context(), id); err != nil || job.Kind != "k" || string(job.Payload) != string(payloads[i]) {
				t.Errorf("job %d, the id of payload %d, is %+v, %v", id, i, job, err)
			}
		}
	}
	if n := scan[int64](t, plain(t, store.Path()), "count_jobs"); n != 1+2*6 {
		t.Errorf("there are %d jobs", n)
	}
}

// No job is added where a trigger or a move forbids it, and that is told.
func TestQuickEnqueueManyThatIsRefused(t *testing.T) {
	for name, want := range map[string]error{"close_queue": jobs.ErrMoved, "ignore_inserts": nil} {
		store, client := queue(t)
		exec(t, plain(t, store.Path()), name)
		_, err := client.EnqueueMany(t.Context(), "k", []json.RawMessage{[]byte("0"), []byte("1")})
		if err == nil || want != nil && !errors.Is(err, want) {
			t.Errorf("%s: an enqueue gives %v", name, err)
		}
	}
}

// It is told them also where another write of its group fails.
func TestEnqueueManyBesideATriggerAndAnError(t *testing.T) {
	store, _ := queue(t)
	exec(t, plain(t, store.Path()), "add_beside")
	var ids []int64
	no := errors.New("no")
	errs := pile(t, store, func(context.Context, db.Querier) error { return no }, func(ctx context.Context, q db.Querier) (err error) {
		ids, err = q.EnqueueJobs(ctx, db.EnqueueJobsParams{Kind: "k", Queue: "default", Payloads: `["0","1"]`, Status: "pending", MaxAttempts: 1, Now: 1})
		return err
	})
	if !errors.Is(errs[0], no) || errs[1] != nil || len(ids) != 2 {
		t.Errorf("the ids are %d, the errors %v", ids, errs)
	}
}

// EnqueueMany works after another program changed the id counter.
func TestEnqueueManyAfterTheCounterWasChanged(t *testing.T) {
	for _, name := range []string{"forget_last_id", "fractional_last_id"} {
		store, client := queue(t)
		first := enqueue(t, client, "before")
		exec(t, plain(t, store.Path()), name)
		ids, err := client.EnqueueMany(t.Context(), "k", []json.RawMessage{[]byte("0"), []byte("1")})
		if err != nil || len(ids) != 2 || ids[0] <= first || ids[1] <= ids[0] {
			t.Errorf("%s: the ids after %d are %d, %v", name, first, ids, err)
		}
	}
}
