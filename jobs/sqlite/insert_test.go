package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"reflect"
	"slices"
	"testing"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/receipts"
	"github.com/sqluice/sqluice/jobs"
)

// payloads returns the only list of an insert of many jobs.
func payloads(list string, count int) iter.Seq2[engine.Payloads, error] {
	return func(yield func(engine.Payloads, error) bool) { yield(engine.Payloads{List: list, Count: count}, nil) }
}

// without returns the columns of an insert of many jobs without the payloads.
func without(arg db.EnqueueJobsParams) db.EnqueueKeylessJobParams {
	return db.EnqueueKeylessJobParams{
		Kind: arg.Kind, Queue: arg.Queue, Status: arg.Status, Priority: arg.Priority, RunAfter: arg.RunAfter, MaxAttempts: arg.MaxAttempts,
		Timeout: arg.Timeout, UserID: arg.UserID, Tags: arg.Tags, Metadata: arg.Metadata, Now: arg.Now,
	}
}

// A job is the same whichever statement inserts it.
func TestInsertAddsTheSame(t *testing.T) {
	store, _ := queue(t)
	for name, arg := range map[string]db.EnqueueKeylessJobParams{
		"little": {Kind: "k", Queue: "default", Payload: "{}", Status: "pending", RunAfter: 0, MaxAttempts: 1, Now: 0},
		"much": {
			Kind: "kind", Queue: "queue", Payload: `{"n": 1, "s": "\u00e9"}`, Status: "scheduled", Priority: -3, RunAfter: 1 << 50, MaxAttempts: 7,
			Timeout: 5000, UserID: new("user"), Tags: new(`["a"]`), Metadata: new(`{"m": null}`), Now: 100_000_000_012345,
		},
	} {
		var quick, usual db.Job
		must(t, store.Write(t.Context(), func(ctx context.Context, q db.Querier) error {
			w := q.(*writes)
			one, err := w.insert(t.Context(), &engine.Insert{Job: arg}, nil)
			must(t, err)
			other, err := w.EnqueueKeylessJob(ctx, arg)
			must(t, err)
			if len(one) != 1 || other != one[0]+1 {
				t.Errorf("%s: the ids are %d and %d", name, one, other)
			}
			quick, err = q.GetJob(ctx, one[0])
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

// A refused enqueue returns the cause, and earlier writes of a transaction are kept.
func TestInsertThatIsRefused(t *testing.T) {
	for name, want := range map[string]error{"close_queue": jobs.ErrMoved, "ignore_inserts": engine.ErrNotAdded, "refuse_second_user": nil} {
		t.Run(name, func(t *testing.T) {
			store, client := queue(t)
			enqueue(t, client, "before")
			exec(t, plain(t, store.path), name)
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
				n, err := q.Pause(ctx, db.PauseParams{Queue: "kept", Now: 0})
				if err != nil {
					return err
				}
				kept = n
				_, err = q.EnqueueKeylessJob(ctx, db.EnqueueKeylessJobParams{
					Kind: "k", Queue: "default", Payload: "{}", Status: "pending", MaxAttempts: 1, UserID: new("u"), Now: 0,
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

// claimed returns the insert of a job for a worker.
func claimed(arg db.EnqueueClaimedJobParams) engine.Insert {
	return engine.Insert{
		Job: db.EnqueueKeylessJobParams{
			Kind: arg.Kind, Queue: arg.Queue, Payload: arg.Payload, Status: "pending", Priority: arg.Priority, RunAfter: arg.RunAfter,
			MaxAttempts: arg.MaxAttempts, Timeout: arg.Timeout, UserID: arg.UserID, Tags: arg.Tags, Metadata: arg.Metadata, Now: arg.Now,
		},
		Claim: &engine.Claim{WorkerID: arg.WorkerID, StartedAt: arg.StartedAt, LeaseUntil: arg.LeaseUntil, Kinds: arg.Kinds},
	}
}

// A job inserted as claimed is the same whichever statement inserts it, and is declined by both.
func TestInsertOfAClaimedJobAddsTheSame(t *testing.T) {
	c := newClaimer(t)
	pool := plain(t, c.store.path)
	little := db.EnqueueClaimedJobParams{
		Kind: "k", Queue: "default", Payload: "{}", RunAfter: 0, MaxAttempts: 1, Now: 0, WorkerID: c.id, StartedAt: 0, LeaseUntil: 0, Kinds: `["k"]`,
	}
	much := db.EnqueueClaimedJobParams{
		Kind: "kind", Queue: "queue", Payload: `{"n": 1, "s": "\u00e9"}`, Priority: -3, RunAfter: 0, MaxAttempts: 7, Timeout: 5000, UserID: new("user"),
		Tags: new(`["a"]`), Metadata: new(`{"m": null}`), Now: 100_000_000_012345, WorkerID: c.id, StartedAt: 100_000_000_012346, LeaseUntil: 100_000_000_099999, Kinds: `["kind"]`,
	}
	both := func(what string, arg db.EnqueueClaimedJobParams, declined bool) {
		t.Helper()
		in := claimed(arg)
		if have := in.Claimed(); !reflect.DeepEqual(have, arg) {
			t.Errorf("%s: the statement for both engines gets %+v, not %+v", what, have, arg)
		}
		c.write(t, func(ctx context.Context, q db.Querier) error {
			w := q.(*writes)
			quick, err := w.insert(t.Context(), &in, nil)
			usual, err2 := w.EnqueueClaimedJob(ctx, arg)
			if declined {
				if !errors.Is(err, engine.ErrDeclined) || err2 == nil {
					t.Errorf("%s: the errors are %v and %v", what, err, err2)
				}
				return nil
			}
			must(t, errors.Join(err, err2))
			one, err := q.GetJob(ctx, quick[0])
			must(t, err)
			other, err := q.GetJob(ctx, usual.ID)
			must(t, err)
			if other.ID != one.ID+1 {
				t.Errorf("%s: the ids are %d and %d", what, one.ID, other.ID)
			}
			one.ID = other.ID
			if one.Status != "running" || one.Attempt != 1 || one.WorkerID == nil || one.LeaseUntil == nil || *one.LeaseUntil != arg.LeaseUntil {
				t.Errorf("%s: the job is %+v", what, one)
			}
			if !reflect.DeepEqual(one, other) {
				t.Errorf("%s: %+v\nis not %+v", what, one, other)
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
		_, err := q.Pause(ctx, db.PauseParams{Queue: "queue", Now: 0})
		return err
	})
	both("paused", much, true)
	c.write(t, func(ctx context.Context, q db.Querier) error {
		_, err := q.Resume(ctx, db.ResumeParams{Queue: "queue"})
		return err
	})
	both("resumed", much, false)
	exec(t, pool, "close_queue")
	both("closed by a move", much, true)
	c = newClaimer(t)
	little.WorkerID = c.id
	c.write(t, func(ctx context.Context, q db.Querier) error {
		_, err := q.EndWorker(ctx, db.EndWorkerParams{Now: 0, EndReason: "lost", ID: c.id})
		return err
	})
	both("an ended worker", little, true)
}

// If a trigger gives a job inserted as claimed another worker or queue, or a later time, the insert is undone. Otherwise the worker
// gets the job as the trigger has left it.
func TestClaimedJobThatATriggerChanges(t *testing.T) {
	c := newClaimer(t)
	pool := plain(t, c.store.path)
	exec(t, pool, "change_one_column")
	for _, column := range []string{
		"nothing", "kind", "queue", "payload", "status", "priority", "run_after", "max_attempts", "timeout", "unique_key", "request_id", "user_id",
		"tags", "metadata", "attempt", "worker_id",
	} {
		before := scan[int64](t, pool, "count_jobs")
		in := claimed(db.EnqueueClaimedJobParams{
			Kind: "k", Queue: column, Payload: `"` + column + `"`, MaxAttempts: 1, WorkerID: c.id, Kinds: `["k"]`,
		})
		ids, err := c.store.Insert(t.Context(), in)
		if slices.Contains([]string{"kind", "queue", "status", "run_after", "attempt", "worker_id"}, column) {
			if !errors.Is(err, engine.ErrDeclined) {
				t.Errorf("a trigger changes %s: the error is %v", column, err)
			}
		} else {
			must(t, err)
			row := in.Claim.Row
			unchanged := row.Kind == "k" && row.Payload == `"`+column+`"` && row.Priority == 0 && row.MaxAttempts == 1 && row.Timeout == 0 &&
				row.UniqueKey == nil && row.RequestID == nil && row.UserID == nil && row.Tags == nil && row.Metadata == nil
			if row.ID != ids[0] || unchanged != (column == "nothing") {
				t.Errorf("a trigger changes %s: the worker gets %+v", column, row)
			}
		}
		if n := scan[int64](t, pool, "count_jobs") - before; n != int64(len(ids)) {
			t.Errorf("a trigger changes %s: %d jobs were added, and %d told", column, n, len(ids))
		}
	}
}

// Many jobs are the same whichever statement inserts them, and callers get their ids.
func TestInsertOfManyAddsTheSame(t *testing.T) {
	store, _ := queue(t)
	for name, arg := range map[string]db.EnqueueJobsParams{
		"little": {Kind: "k", Queue: "default", Payloads: `["{}","[1]"]`, Status: "pending", RunAfter: 0, MaxAttempts: 1, Now: 0},
		"much": {
			Kind: "kind", Queue: "queue", Payloads: `["{\"s\": \"\\u00e9\"}","2"]`, Status: "scheduled", Priority: -3, RunAfter: 1 << 50, MaxAttempts: 7,
			Timeout: 5000, UserID: new("user"), Tags: new(`["a"]`), Metadata: new(`{"m": null}`), Now: 100_000_000_012345,
		},
	} {
		must(t, store.Write(t.Context(), func(ctx context.Context, q db.Querier) error {
			w := q.(*writes)
			quick, err := w.insert(t.Context(), &engine.Insert{Job: without(arg), Payloads: payloads(arg.Payloads, 2)}, nil)
			must(t, err)
			usual, err := w.EnqueueJobs(ctx, arg)
			must(t, err)
			if len(quick) != 2 || len(usual) != 2 {
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

// A trigger of the application adds or ignores jobs: the ids that an enqueue returns are still those of its own.
func TestInsertOfManyBesideTriggers(t *testing.T) {
	for name, test := range map[string]struct {
		told  []string // the payloads whose jobs are added
		total int64
	}{
		"add_beside":           {[]string{"0", "3", "2"}, 6},
		"add_beside_shouting":  {[]string{"0", "3", "2"}, 6}, // the trigger has the table's name in capital letters
		"ignore_some_inserts":  {[]string{"0", "2"}, 2},
		"replace_some_inserts": {[]string{"0", "2"}, 3},
	} {
		store, client := queue(t)
		enqueue(t, client, "before")
		exec(t, plain(t, store.path), name)
		ids, err := receipts.IDs(client.EnqueueMany(t.Context(), "k", []json.RawMessage{[]byte("0"), []byte("3"), []byte("2")}))
		must(t, err)
		if len(ids) != len(test.told) {
			t.Fatalf("%s: the ids are %d", name, ids)
		}
		for i, id := range ids {
			if job, err := client.Get(t.Context(), id); err != nil || job.Kind != "k" || string(job.Payload) != test.told[i] {
				t.Errorf("%s: job %d, the id of payload %s, is %+v, %v", name, id, test.told[i], job, err)
			}
		}
		if n := scan[int64](t, plain(t, store.path), "count_jobs"); n != 1+test.total {
			t.Errorf("%s: there are %d jobs", name, n)
		}
	}
}

// No job is added where a trigger or a move forbids it, and the caller gets an error.
func TestInsertOfManyThatIsRefused(t *testing.T) {
	for name, want := range map[string]error{"close_queue": jobs.ErrMoved, "ignore_inserts": engine.ErrNotAdded} {
		store, client := queue(t)
		enqueue(t, client, "before") // its id must not be taken for that of a job that is not added
		exec(t, plain(t, store.path), name)
		_, err := client.EnqueueMany(t.Context(), "k", []json.RawMessage{[]byte("0"), []byte("1")})
		if !errors.Is(err, want) {
			t.Errorf("%s: an enqueue gives %v", name, err)
		}
	}
}

// An enqueue of many beside a write that fails gets the ids of its own jobs.
func TestInsertOfManyBesideATriggerAndAnError(t *testing.T) {
	store, _ := queue(t)
	exec(t, plain(t, store.path), "add_beside")
	var ids []int64
	no := errors.New("no")
	arg := db.EnqueueJobsParams{Kind: "k", Queue: "default", Status: "pending", MaxAttempts: 1, Now: 0}
	errs := pileCalls(t, store, func() error {
		return store.Write(context.Background(), func(context.Context, db.Querier) error { return no })
	}, func() (err error) {
		ids, err = store.Insert(context.Background(), engine.Insert{Job: without(arg), Payloads: payloads(`["0","1"]`, 2)})
		return err
	})
	if !errors.Is(errs[0], no) || errs[1] != nil || len(ids) != 2 {
		t.Fatalf("the ids are %d, the errors %v", ids, errs)
	}
	for i, want := range []string{"0", "1"} {
		if job := jobOf(t, store, ids[i]); job.Payload != want || job.Kind != "k" {
			t.Errorf("job %d is %+v", ids[i], job)
		}
	}
}
