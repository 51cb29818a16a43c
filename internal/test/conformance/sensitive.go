package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/receipts"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

var sensitiveTests = []test{
	{"OnlyTheHandler", testSensitive},
	{"MarkedByARunner", testSensitiveByRunner},
	{"MarkedByMany", testSensitiveMany},
	{"InTheCallersTransaction", testSensitiveInTransaction},
	{"MarksStay", testSensitiveMarksStay},
	{"UnreadableMarks", testSensitiveUnreadable},
	{"Unmark", testSensitiveUnmark},
	{"Faults", testSensitiveFaults},
	{"DecodeErrors", testSensitiveDecodeErrors},
}

// hush is the value that must not be shown.
const hush = "4111-1111"

type payment struct {
	Card  struct{ Number, Name string } `json:"card"`
	Items []map[string]string           `json:"items"`
}

func aPayment() (p payment) {
	p.Card.Number, p.Card.Name = hush, "Ann"
	p.Items = []map[string]string{{"token": hush, "what": "tea"}}
	return p
}

var pay = jobs.Kind[payment]{Name: "pay", Sensitive: []string{"card.number", "items.*.token", "result:*", "progress:code", "metadata:key"}}

// wantHidden reads a job through every method of a client that shows it.
func (f *fixture) wantHidden(id int64) {
	f.Helper()
	for _, client := range []*jobs.Client{f.client, f.elsewhere()} {
		job, err := client.Get(f.ctx, id)
		f.must(err)
		list, err := inspect.New(client).List(f.ctx, inspect.Filter{Kind: job.Kind})
		f.must(err)
		failed, err := inspect.New(client).ListFailed(f.ctx, inspect.FailedFilter{Kind: job.Kind}, jobs.Job{})
		f.must(err)
		seen := append(append([]jobs.Job{job}, list...), failed...)
		for _, text := range []string{hush, "tea", "411"} { // a search that finds a value allows guesses
			found, err := inspect.New(client).List(f.ctx, inspect.Filter{Text: text, Kind: job.Kind})
			f.must(err)
			want(f, "jobs that are found by what their payload has", len(found), 0)
		}
		if job.Status.Final() {
			waited, err := client.Wait(f.ctx, id)
			f.must(err)
			seen = append(seen, waited)
		}
		for _, job := range seen {
			text, err := json.Marshal(job)
			f.must(err)
			if strings.Contains(string(text), hush) || job.ID == id && !strings.Contains(string(text), jobs.Redacted) {
				f.Errorf("what is sensitive can be seen: %s", text)
			}
		}
	}
	open, err := f.client.Revealed().Get(f.ctx, id)
	f.must(err)
	if !strings.Contains(string(open.Payload), hush) {
		f.Errorf("a client that is to reveal shows %s", open.Payload)
	}
}

func testSensitive(f *fixture) {
	receipt, err := pay.Enqueue(f.ctx, f.client, aPayment(), jobs.Metadata(map[string]string{"key": hush, "open": "tea"}))
	f.must(err)
	f.wantHidden(receipt.ID)
	job := f.get(receipt.ID)
	want(f, "payload", string(job.Payload), `{"card":{"Number":"[redacted]","Name":"Ann"},"items":[{"token":"[redacted]","what":"tea"}]}`)
	want(f, "metadata", string(job.Metadata), `{"key":"[redacted]","open":"tea"}`)
	handled := false
	f.drain(jobs.Config{}, func(r *jobs.Runner) {
		pay.Handle(r, func(ctx context.Context, job jobs.Job, p payment) error {
			handled = true
			if p.Card.Number != hush || p.Items[0]["token"] != hush || !strings.Contains(string(job.Payload), hush) || !strings.Contains(string(job.Metadata), hush) {
				f.Errorf("the handler gets %+v and %s", p, job.Payload)
			}
			if err := job.SetProgress(ctx, map[string]string{"code": hush, "step": "one"}); err != nil {
				return err
			}
			return job.SetResult(hush)
		})
	})
	want(f, "handled", handled, true)
	f.wantHidden(receipt.ID)
	job = f.get(receipt.ID)
	want(f, "status", job.Status, jobs.StatusDone)
	want(f, "progress", string(job.Progress), `{"code":"[redacted]","step":"one"}`)
	want(f, "result", string(job.Result), `"[redacted]"`)
}

// A job that another program added, by the kind's name alone, is hidden as soon as a worker for it has started.
func testSensitiveByRunner(f *fixture) {
	id := f.enqueue("pay")
	other := f.enqueue("other")
	_, err := f.client.Enqueue(f.ctx, "pay", json.RawMessage(`{"card":{"number":"`+hush+`"}}`))
	f.must(err)
	started, release := make(chan struct{}, 2), make(chan struct{})
	defer close(release)
	f.startOn(f.elsewhere(), jobs.Config{}, func(r *jobs.Runner) {
		pay.Handle(r, func(context.Context, jobs.Job, payment) error {
			started <- struct{}{}
			<-release
			return nil
		})
	})
	receive(f, "the start", started)
	fields, err := inspect.New(f.client).SensitiveFields(f.ctx)
	f.must(err)
	if sorted := slices.Sorted(slices.Values(pay.Sensitive)); len(fields) != 1 || !slices.Equal(slices.Sorted(slices.Values(fields["pay"])), sorted) {
		f.Errorf("marked fields are %v", fields)
	}
	want(f, "payload without what is sensitive", string(f.get(id).Payload), `{}`)
	want(f, "payload of another kind", string(f.get(other).Payload), `{}`)
	f.wantHidden(id + 2)
}

func testSensitiveMany(f *fixture) {
	ids, err := receipts.IDs(pay.EnqueueMany(f.ctx, f.client, []payment{aPayment(), aPayment()}))
	f.must(err)
	for _, id := range ids {
		f.wantHidden(id)
	}
}

// A transaction that is rolled back takes its marks with it: the next one makes them anew, also in the same process.
func testSensitiveInTransaction(f *fixture) {
	rollback := errors.New("rollback")
	for _, end := range []error{rollback, rollback, nil} {
		var id int64
		err := f.inTx(func(tx Tx) error {
			client := f.client.With(tx)
			for range 2 { // the second finds the marks of the first, which are not committed
				receipt, err := pay.Enqueue(f.ctx, client, aPayment())
				if err != nil {
					return err
				}
				id = receipt.ID
				if job, err := client.Get(f.ctx, id); err != nil || strings.Contains(string(job.Payload), hush) {
					f.Errorf("in the transaction the job is %s, %v", job.Payload, err)
				}
			}
			return end
		})
		if !errors.Is(err, end) {
			f.Fatal(err)
		}
		if end == nil {
			f.wantHidden(id)
		}
	}
	// Another process finds the marks there and need not mark again, whatever the outcome of its transactions.
	other := f.elsewhere()
	for _, end := range []error{rollback, nil} {
		var id int64
		err := f.inTx(func(tx Tx) error {
			receipt, err := pay.Enqueue(f.ctx, other.With(tx), aPayment())
			if err != nil {
				return err
			}
			id = receipt.ID
			return end
		})
		if !errors.Is(err, end) {
			f.Fatal(err)
		}
		if end == nil {
			f.wantHidden(id)
		}
	}
}

// A program that knows less of a kind, or is older, does not uncover fields that others hide.
func testSensitiveMarksStay(f *fixture) {
	receipt, err := pay.Enqueue(f.ctx, f.client, aPayment())
	f.must(err)
	less := jobs.Kind[payment]{Name: "pay", Sensitive: []string{"card.name"}}
	_, err = less.Enqueue(f.ctx, f.elsewhere(), aPayment())
	f.must(err)
	_, err = jobs.Kind[payment]{Name: "pay"}.Enqueue(f.ctx, f.elsewhere(), aPayment())
	f.must(err)
	f.wantHidden(receipt.ID)
	want(f, "payload", string(f.get(receipt.ID).Payload),
		`{"card":{"Number":"[redacted]","Name":"[redacted]"},"items":[{"token":"[redacted]","what":"tea"}]}`)
}

func testSensitiveUnreadable(f *fixture) {
	f.write(func(ctx context.Context, q db.Querier) error {
		_, err := q.AddSensitiveFields(ctx, db.AddSensitiveFieldsParams{Now: 0, Items: `[["pay", "what..is this"]]`})
		return err
	})
	receipt, err := f.client.Enqueue(f.ctx, "pay", json.RawMessage(`["`+hush+`"]`), jobs.Metadata(hush))
	f.must(err)
	f.wantHidden(receipt.ID)
	n, err := inspect.New(f.client).UnmarkSensitive(f.ctx, "pay", "what..is this")
	f.must(err)
	want(f, "marks that were taken", n, 1)
	want(f, "payload", string(f.get(receipt.ID).Payload), `["`+hush+`"]`)
}

func testSensitiveUnmark(f *fixture) {
	id := f.enqueue("pay")
	f.must(inspect.New(f.client).MarkSensitive(f.as("ann"), "pay", "*", "result:*"))
	f.must(inspect.New(f.client).MarkSensitive(f.as("ann"), "pay", "*")) // no new mark
	want(f, "payload", string(f.get(id).Payload), `"[redacted]"`)
	n, err := inspect.New(f.client).UnmarkSensitive(f.as("bob"), "pay", "*", "other")
	f.must(err)
	want(f, "marks that were taken", n, 1)
	n, err = inspect.New(f.client).UnmarkSensitive(f.as("bob"), "other", "*")
	f.must(err)
	want(f, "marks that another kind had", n, 0)
	want(f, "payload", string(f.get(id).Payload), `{}`)
	fields, err := inspect.New(f.client).SensitiveFields(f.ctx)
	f.must(err)
	if len(fields) != 1 || !slices.Equal(fields["pay"], []string{"result:*"}) {
		f.Errorf("marked fields are %v", fields)
	}
	f.wantAudit(
		inspect.AuditEntry{Actor: "ann", Action: inspect.ActionMark, Kind: "pay", Detail: json.RawMessage(`{"fields":["*","result:*"]}`)},
		inspect.AuditEntry{Actor: "bob", Action: inspect.ActionUnmark, Kind: "pay", Detail: json.RawMessage(`{"fields":["*","other"]}`)},
	)
}

// A kind with unreadable marks is enqueued nowhere, and handled nowhere.
func testSensitiveFaults(f *fixture) {
	bad := jobs.Kind[payment]{Name: "pay", Sensitive: []string{"card..number"}}
	_, err := bad.Enqueue(f.ctx, f.client, aPayment())
	wantInvalid(f, "an enqueue", err)
	_, err = bad.EnqueueMany(f.ctx, f.client, []payment{aPayment()})
	wantInvalid(f, "an enqueue of many", err)
	wantInvalid(f, "a mark", inspect.New(f.client).MarkSensitive(f.ctx, "pay", "a..b"))
	wantInvalid(f, "a mark of a kind without a name", inspect.New(f.client).MarkSensitive(f.ctx, "", "a"))
	want(f, "jobs", len(f.list(inspect.Filter{})), 0)
	defer func() {
		if p := recover(); p == nil || !strings.Contains(fmt.Sprint(p), "card..number") {
			f.Errorf("Handle says %v", p)
		}
	}()
	bad.Handle(f.runner(f.client, jobs.Config{}), func(context.Context, jobs.Job, payment) error { return nil })
}

// The part of a payload that does not fit its type is neither in the error nor in the log.
func testSensitiveDecodeErrors(f *fixture) {
	strict := jobs.Kind[struct{ Card int8 }]{Name: "strict", Sensitive: []string{"card"}}
	receipt, err := f.client.Enqueue(f.ctx, "strict", json.RawMessage(`{"card": 41111111}`), jobs.MaxAttempts(1))
	f.must(err)
	var log bytes.Buffer
	f.drain(jobs.Config{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))}, func(r *jobs.Runner) {
		strict.Handle(r, func(context.Context, jobs.Job, struct{ Card int8 }) error { return nil })
	})
	job := f.get(receipt.ID)
	want(f, "status", job.Status, jobs.StatusFailed)
	for name, text := range map[string]string{"the error": job.LastError, "the attempt": f.errors(receipt.ID)[0].Message, "the log": log.String()} {
		if strings.Contains(text, "4111") || text == "" {
			f.Errorf("%s is %s", name, text)
		}
	}
	for _, payload := range []string{`{"card": ` + hush, hush, `"` + hush + "\xff\""} {
		_, err := f.client.Enqueue(f.ctx, "strict", json.RawMessage(payload))
		if err == nil || strings.Contains(err.Error(), hush) {
			f.Errorf("the error of a payload that is no JSON is %v", err)
		}
	}
}
