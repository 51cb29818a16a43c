package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

func testRekey(f *fixture) {
	c := f.encrypting("a")
	plain := f.enqueue("plain")
	var ids []int64
	for i := range 5 {
		receipt, err := c.Enqueue(f.ctx, "k", json.RawMessage(plantedJSON), jobs.MaxAttempts(1))
		f.must(err)
		ids = append(ids, receipt.ID)
		want(f, "id", receipt.ID, int64(i+2))
	}
	lost, err := f.encrypting("x").Enqueue(f.ctx, "lost", json.RawMessage(plantedJSON))
	f.must(err)
	f.must(c.PutSchedule(f.ctx, jobs.Kind[json.RawMessage]{Name: "k"}.Every("s", time.Hour, json.RawMessage(plantedJSON))))
	r := f.startOn(c, jobs.Config{}, on("k", func(ctx context.Context, job jobs.Job) error {
		if job.ID%2 == 0 {
			return errors.New(planted)
		}
		return errors.Join(job.SetProgress(ctx, planted), job.SetResult(planted))
	}))
	for _, id := range ids {
		f.ended(id)
	}
	r.stop()
	_, err = inspect.New(f.client).Rekey(f.ctx, inspect.RekeyOptions{})
	wantInvalid(f, "Rekey without a cipher", err)
	in := inspect.New(f.encrypting("b", "a"))
	ctx := f.as("me")
	done, err := in.Rekey(ctx, inspect.RekeyOptions{})
	f.must(err)
	want(f, "rekeyed", fmt.Sprintf("%+v", done), "{Jobs:5 Errors:3 Schedules:1 Unreadable:1 Keys:map[x:1] Damaged:0 DamagedAt:[]}")
	f.wantAudit(
		inspect.AuditEntry{Actor: "me", Action: inspect.ActionRekey, Detail: json.RawMessage(`{"schedule":"s"}`)},
		inspect.AuditEntry{Actor: "me", Action: inspect.ActionRekey, Jobs: 5, JobIDs: ids},
		inspect.AuditEntry{Actor: "me", Action: inspect.ActionRekey, Detail: json.RawMessage(`{"errors":3}`)},
	)
	done, err = in.Rekey(ctx, inspect.RekeyOptions{})
	f.must(err)
	want(f, "rekeyed again", fmt.Sprintf("%+v", done), "{Jobs:0 Errors:0 Schedules:0 Unreadable:1 Keys:map[x:1] Damaged:0 DamagedAt:[]}")
	only := f.encrypting("b").Revealed()
	for _, id := range ids {
		job, err := only.Get(f.ctx, id)
		f.must(err)
		want(f, "payload", string(job.Payload), plantedJSON)
		if job.Status == jobs.StatusFailed {
			list, err := inspect.New(only).Errors(f.ctx, id)
			f.must(err)
			want(f, "the job's error and the attempt's", job.LastError+" "+list[0].Message, planted+" "+planted)
		} else {
			want(f, "progress and result", string(job.Progress)+string(job.Result), `"`+planted+`""`+planted+`"`)
		}
	}
	schedule, err := only.GetSchedule(f.ctx, "s")
	f.must(err)
	want(f, "the payload of the schedule", string(schedule.Payload), plantedJSON)
	kept, err := f.encrypting("x").Revealed().Get(f.ctx, lost.ID)
	f.must(err)
	want(f, "what could not be read", string(kept.Payload), plantedJSON)

	other, err := jobs.NewCipher(jobs.Key{ID: "b", Secret: []byte(strings.Repeat("y", 32))})
	f.must(err)
	done, err = inspect.New(jobs.New(f.store, jobs.WithCipher(other))).Rekey(ctx, inspect.RekeyOptions{})
	f.must(err)
	if done.Jobs != 0 || done.Keys["b"] != 0 || done.Damaged != 5 || done.DamagedAt[0] != fmt.Sprintf("job %d: payload", ids[0]) {
		f.Errorf("with another secret of the same id: %+v", done)
	}

	want(f, "what was not encrypted", string(f.get(plain).Payload), "{}")
	done, err = in.Rekey(f.ctx, inspect.RekeyOptions{Plain: true})
	f.must(err)
	want(f, "encrypted", done.Jobs, 1)
	f.wantEncrypted("encrypted later", plain)
}

// While workers run and jobs are added, everything is encrypted with another key, and each job runs once with its payload.
func testRekeyBesideWorkers(f *fixture) {
	old, both := f.encrypting("a", "b"), f.encrypting("b", "a")
	const n = 300
	payloads := make([]json.RawMessage, n)
	for i := range payloads {
		payloads[i] = json.RawMessage(fmt.Sprintf(`{"card":"%s","n":%d}`, planted, i))
	}
	_, err := old.EnqueueMany(f.ctx, "k", payloads)
	f.must(err)
	var ran atomic.Int64
	handler := func(ctx context.Context, job jobs.Job) error {
		ran.Add(1)
		if !strings.Contains(string(job.Payload), planted) {
			f.Errorf("the handler got %s", job.Payload)
		}
		return errors.Join(job.SetProgress(ctx, planted), job.SetResult(planted))
	}
	first, second := f.startOn(old, jobs.Config{}, on("k", handler)), f.startOn(both, jobs.Config{}, on("k", handler))
	total := int64(0)
	rekey := func() inspect.Rekeyed {
		done, err := inspect.New(both).Rekey(f.ctx, inspect.RekeyOptions{})
		f.must(err)
		want(f, "values that cannot be read", done.Unreadable, 0)
		total += done.Jobs
		return done
	}
	for ran.Load() < n {
		rekey()
	}
	first.stop()
	second.stop()
	rekey()
	want(f, "what is left to be encrypted again", rekey().Jobs, 0)
	if total == 0 {
		f.Error("nothing was encrypted again")
	}
	want(f, "runs", ran.Load(), n)
	only := f.encrypting("b").Revealed()
	for id := int64(1); id <= n; id++ {
		job, err := only.Get(f.ctx, id)
		f.must(err)
		if job.Status != jobs.StatusDone || job.Counted() != 1 || !strings.Contains(string(job.Payload), planted) || string(job.Result) != `"`+planted+`"` {
			f.Errorf("job %d is %+v", id, job)
		}
	}
}

// A job that changes meanwhile hides no value that cannot be read.
func testRekeyBesideAChange(f *fixture) {
	var ids []int64
	for _, c := range []*jobs.Client{f.encrypting("x"), f.encrypting("a"), f.encrypting("a")} {
		receipt, err := c.Enqueue(f.ctx, "k", json.RawMessage(plantedJSON))
		f.must(err)
		ids = append(ids, receipt.ID)
	}
	cipher, err := jobs.NewCipher(key("b"), key("a"))
	f.must(err)
	store := engine.SealStore(&changesMeanwhile{Store: f.store, id: ids[1]})
	done, err := inspect.New(jobs.New(store, jobs.WithCipher(cipher))).Rekey(f.ctx, inspect.RekeyOptions{})
	f.must(err)
	want(f, "rekeyed", fmt.Sprintf("%+v", done), "{Jobs:2 Errors:0 Schedules:0 Unreadable:1 Keys:map[x:1] Damaged:0 DamagedAt:[]}")
}

// changesMeanwhile is a store in which a job changes once between being read and being encrypted with another key.
type changesMeanwhile struct {
	engine.Store
	id   int64
	done bool
}

func (s *changesMeanwhile) Write(ctx context.Context, fn engine.Func) error {
	return s.Store.Write(ctx, func(ctx context.Context, q db.Querier) error { return fn(ctx, changesOnce{q, s}) })
}

type changesOnce struct {
	db.Querier
	store *changesMeanwhile
}

func (q changesOnce) RekeyJob(ctx context.Context, p db.RekeyJobParams) (int64, error) {
	if p.ID == q.store.id && !q.store.done {
		q.store.done = true
		return 0, nil
	}
	return q.Querier.RekeyJob(ctx, p)
}
