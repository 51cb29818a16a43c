package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// A client that reveals errors decrypts them and nothing else, and the audit log names the actor and the errors that it asked for.
func testRevealErrors(f *fixture) {
	c := f.encrypting("a")
	kind := jobs.Kind[json.RawMessage]{Name: "k", Sensitive: []string{"pin"}}
	receipt, err := kind.Enqueue(f.ctx, c, json.RawMessage(`{"pin":"4711-0815","of":"`+planted+`"}`), jobs.MaxAttempts(1))
	f.must(err)
	id := receipt.ID
	r := f.startOn(c, jobs.Config{}, on("k", func(ctx context.Context, job jobs.Job) error {
		if err := job.SetProgress(ctx, planted); err != nil {
			return err
		}
		return errors.New("no card 4711-0815 of ann")
	}))
	f.ended(id)
	r.stop()
	const text = "no card [redacted] of ann"

	revealed, err := c.RevealErrors(f.as("eve"), id)
	f.must(err)
	all, err := c.RevealErrors(f.as("bob"), 0, jobs.AuditDetail(map[string]string{"kind": "k"}))
	f.must(err)
	for _, client := range []*jobs.Client{revealed, all} {
		job, err := client.Get(f.ctx, id)
		f.must(err)
		want(f, "last error", job.LastError, text)
		want(f, "payload", string(job.Payload), `"[redacted]"`)
		want(f, "progress", string(job.Progress), `"`+jobs.Encrypted+`"`)
		in := inspect.New(client)
		page, err := in.Attempts(f.ctx, id, 0, 0)
		f.must(err)
		want(f, "message", page.Failed[0].Message, text)
		report, err := in.FailedReport(f.ctx, inspect.FailedFilter{})
		f.must(err)
		want(f, "error of the report", report.Groups[0].Error, text)
		list, err := in.ListFailed(f.ctx, inspect.FailedFilter{}, jobs.Job{})
		f.must(err)
		want(f, "error in the list", list[0].LastError, text)
		want(f, "payload in the list", string(list[0].Payload), `"[redacted]"`)
	}
	f.wantAudit(
		inspect.AuditEntry{Actor: "eve", Action: inspect.ActionRevealErrors, JobID: id, Kind: "k", Queue: "default"},
		inspect.AuditEntry{Actor: "bob", Action: inspect.ActionRevealErrors, Detail: json.RawMessage(`{"kind":"k"}`)},
	)

	for what, client := range map[string]*jobs.Client{"the client itself": c, "a client without the key": f.encrypting("z")} {
		if what != "the client itself" {
			client, err = client.RevealErrors(f.as("dan"), id)
			f.must(err)
		}
		job, err := client.Get(f.ctx, id)
		f.must(err)
		if !strings.HasPrefix(job.LastError, shownError) {
			f.Errorf("%s shows %q", what, job.LastError)
		}
	}
	if _, err := c.RevealErrors(f.ctx, id); !errors.As(err, new(*jobs.InvalidError)) {
		f.Errorf("without an actor: %v", err)
	}
	if _, err := c.RevealErrors(f.as("eve"), 1<<40); !errors.Is(err, jobs.ErrNotFound) {
		f.Errorf("of a job that does not exist: %v", err)
	}
	want(f, "entries", len(f.audit(inspect.AuditFilter{Action: inspect.ActionRevealErrors})), 3)
}
