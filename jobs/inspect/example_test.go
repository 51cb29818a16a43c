package inspect_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

// Letter is the payload of a job that sends a letter.
type Letter struct{ To string }

// Send is a kind of job.
var Send = jobs.Kind[Letter]{Name: "send", MaxAttempts: 1}

// A page of the newest jobs, and the next page.
func ExampleInspector_ListPage() {
	ctx, client, closeAll := openQueue()
	defer closeAll()
	_, err := Send.EnqueueMany(ctx, client, []Letter{{"Ada"}, {"Grace"}, {"Edsger"}})
	check(err)

	inspector := inspect.New(client)
	filter := inspect.Filter{Kind: Send.Name, Limit: 2}
	for {
		page, err := inspector.ListPage(ctx, filter)
		check(err)
		for _, job := range page.Jobs {
			fmt.Println(job.ID, job.Status, string(job.Payload))
		}
		if page.Next == 0 {
			break
		}
		filter.After = page.Next
	}
	// Output:
	// 3 pending {"To":"Edsger"}
	// 2 pending {"To":"Grace"}
	// 1 pending {"To":"Ada"}
}

// Done jobs of one kind are kept for a month, whatever the runners' configuration, and failed ones of one queue for ever.
func ExampleInspector_SetRetention() {
	ctx, client, closeAll := openQueue()
	defer closeAll()
	inspector := inspect.New(client)
	for _, rule := range []inspect.RetentionRule{
		{Kind: Send.Name, Status: jobs.StatusDone, Keep: 30 * 24 * time.Hour},
		{Queue: "billing", Status: jobs.StatusFailed, Keep: jobs.Forever},
	} {
		_, err := inspector.SetRetention(ctx, rule)
		check(err)
	}
	rules, err := inspector.Retentions(ctx)
	check(err)
	for _, rule := range rules {
		fmt.Println(rule)
	}
	// Output:
	// done jobs of kind "send"
	// failed jobs of queue "billing"
}

// Failed jobs by kind and error, and another try for all of them. The audit log records the actor.
func ExampleInspector_RetryFailed() {
	ctx, client, closeAll := openQueue()
	defer closeAll()
	_, err := Send.EnqueueMany(ctx, client, []Letter{{"Ada"}, {"Grace"}})
	check(err)
	runner, err := jobs.NewRunner(client, jobs.Config{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	check(err)
	Send.Handle(runner, func(context.Context, jobs.Job, Letter) error { return errors.New("the post office is closed") })
	check(runner.Drain(ctx))

	inspector := inspect.New(client)
	report, err := inspector.FailedReport(ctx, inspect.FailedFilter{})
	check(err)
	for _, group := range report.Groups {
		fmt.Printf("%d jobs of %s: %s\n", group.Jobs, group.Kind, group.Error)
	}

	n, err := inspector.RetryFailed(jobs.WithActor(ctx, "ada"), inspect.FailedFilter{Kind: Send.Name})
	check(err)
	fmt.Println("retried", n)

	entries, err := inspector.Audit(ctx, inspect.AuditFilter{})
	check(err)
	for _, entry := range entries {
		fmt.Println(entry.Actor, entry.Action, entry.Jobs)
	}
	// Output:
	// 2 jobs of send: the post office is closed
	// retried 2
	// ada retry 2
}

// Why a job does not run.
func ExampleInspector_Why() {
	ctx, client, closeAll := openQueue()
	defer closeAll()
	receipt, err := Send.Enqueue(ctx, client, Letter{"Ada"})
	check(err)

	diagnosis, err := inspect.New(client).Why(ctx, receipt.ID)
	check(err)
	for _, finding := range diagnosis.Findings {
		fmt.Println(finding.Reason+":", finding.Text)
	}
	// Output: no-worker: no live worker takes jobs of the kind "send" from queue "default"
}

// After a change of the key, values with the old key are encrypted again, while workers run.
func ExampleInspector_Rekey() {
	ctx, client, closeAll := openQueue()
	defer closeAll()
	old := jobs.Key{ID: "2026-11", Secret: bytes.Repeat([]byte{1}, 32)}
	next := jobs.Key{ID: "2027-05", Secret: bytes.Repeat([]byte{2}, 32)}
	first, err := jobs.NewCipher(old)
	check(err)
	_, err = Send.Enqueue(ctx, jobs.New(client.Store(), jobs.WithCipher(first)), Letter{"Ada"})
	check(err)

	both, err := jobs.NewCipher(next, old)
	check(err)
	done, err := inspect.New(jobs.New(client.Store(), jobs.WithCipher(both))).Rekey(ctx, inspect.RekeyOptions{})
	check(err)
	fmt.Println("jobs:", done.Jobs, "unreadable:", done.Unreadable)
	// Output: jobs: 1 unreadable: 0
}

// The data in a user's jobs is erased; the record that there were jobs stays.
func ExampleInspector_Forget() {
	ctx, client, closeAll := openQueue()
	defer closeAll()
	receipt, err := Send.Enqueue(ctx, client, Letter{"Ada"}, jobs.UserID("42"))
	check(err)
	done, err := inspect.New(client).Forget(jobs.WithActor(ctx, "privacy team"), "42")
	check(err)
	fmt.Println("cancelled:", done.Cancelled, "erased:", done.Erased)
	job, err := client.Revealed().Get(ctx, receipt.ID)
	check(err)
	fmt.Println(job.Kind, job.Status, string(job.Payload))
	// Output:
	// cancelled: 1 erased: 1
	// send cancelled "[forgotten]"
}

// openQueue opens a queue in a new file.
func openQueue() (context.Context, *jobs.Client, func()) {
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "sqluice")
	check(err)
	store, err := sqlite.Open(ctx, filepath.Join(folder, "jobs.db"))
	check(err)
	client := jobs.New(store)
	_, err = client.Migrate(ctx)
	check(err)
	return ctx, client, func() {
		check(store.Close())
		check(os.RemoveAll(folder))
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
