package jobs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"github.com/sqluice/sqluice/jobs"
)

// A kind gets another name: jobs that were enqueued under the old one run too, and keep it.
func ExampleKind_aliases() {
	ctx := context.Background()
	client, done := newClient(ctx)
	defer done()
	_, err := Thumbnail.Enqueue(ctx, client, Resize{"cat.jpg", 80}) // by the former program
	check(err)

	var Scale = jobs.Kind[Resize]{Name: "scale", Aliases: []string{"thumbnail"}}
	_, err = Scale.Enqueue(ctx, client, Resize{"dog.jpg", 80})
	check(err)
	runner, err := jobs.NewRunner(client, jobs.Config{Queues: map[string]int{"default": 1}, Logger: slog.New(slog.DiscardHandler)})
	check(err)
	Scale.Handle(runner, func(_ context.Context, job jobs.Job, args Resize) error {
		fmt.Println(job.Kind, args.Image)
		return nil
	})
	check(runner.Drain(ctx))
	// Unordered output:
	// thumbnail cat.jpg
	// scale dog.jpg
}

// A payload gets another form: payloads in the former one are converted before the handler gets them.
func ExampleKind_versions() {
	ctx := context.Background()
	client, done := newClient(ctx)
	defer done()
	_, err := client.Enqueue(ctx, "crop", json.RawMessage(`{"Size": "80x60"}`)) // by the former program
	check(err)

	// Before: type Area struct{ Size string }, as "80x60", and no Version.
	type Area struct{ Width, Height int }
	var Crop = jobs.Kind[Area]{
		Name:    "crop",
		Version: 1,
		Upgrade: func(from int, payload json.RawMessage) (json.RawMessage, error) {
			var old struct{ Size string }
			if err := json.Unmarshal(payload, &old); err != nil {
				return nil, err
			}
			var area Area
			if _, err := fmt.Sscanf(old.Size, "%dx%d", &area.Width, &area.Height); err != nil {
				return nil, errors.New("its size is not WIDTHxHEIGHT")
			}
			return json.Marshal(area)
		},
	}
	_, err = Crop.Enqueue(ctx, client, Area{200, 100})
	check(err)
	runner, err := jobs.NewRunner(client, jobs.Config{Queues: map[string]int{"default": 1}, Logger: slog.New(slog.DiscardHandler)})
	check(err)
	Crop.Handle(runner, func(_ context.Context, _ jobs.Job, area Area) error {
		fmt.Println(area.Width, area.Height)
		return nil
	})
	check(runner.Drain(ctx))
	// Unordered output:
	// 80 60
	// 200 100
}

// Done jobs are not kept: the row is removed in the transaction in which the job is done. Failed jobs stay.
func ExampleKind_keepNothing() {
	ctx := context.Background()
	client, done := newClient(ctx)
	defer done()

	var Ping = jobs.Kind[string]{Name: "ping", Keep: jobs.Nothing}
	receipts, err := Ping.EnqueueMany(ctx, client, []string{"up", "down"}, jobs.MaxAttempts(1))
	check(err)
	runner, err := jobs.NewRunner(client, jobs.Config{Logger: slog.New(slog.DiscardHandler)})
	check(err)
	Ping.Handle(runner, func(_ context.Context, _ jobs.Job, host string) error {
		if host == "down" {
			return errors.New("no answer")
		}
		return nil
	})
	check(runner.Drain(ctx))
	_, err = client.Get(ctx, receipts[0].ID)
	fmt.Println(errors.Is(err, jobs.ErrNotFound))
	failed, err := client.Get(ctx, receipts[1].ID)
	check(err)
	fmt.Println(failed.Status)
	// Output:
	// true
	// failed
}
