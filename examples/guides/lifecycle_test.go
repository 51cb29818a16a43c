package guides_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

// Order is the payload of a job that ships an order.
type Order struct{ ID int64 }

// errClosed is an error of the warehouse.
var errClosed = errors.New("the warehouse is closed")

var Ship = jobs.Kind[Order]{Name: "ship", RetryDelay: jobs.FixedRetry(time.Hour)}

// ship ends each of its first attempts in another way.
func ship(_ context.Context, job jobs.Job, _ Order) error {
	switch job.Attempt {
	case 1:
		return jobs.Snooze(time.Hour) // no attempt counts
	case 2:
		return errClosed // an attempt counts, and the job runs again after the kind's delay
	}
	return nil // done
}

// docs/lifecycle.md: a job is scheduled after each of its attempts until one ends well.
func Example_lifecycle() {
	ctx := context.Background()
	_, client, done := openShop(ctx)
	defer done()

	receipt, err := Ship.Enqueue(ctx, client, Order{ID: 7}, jobs.In(time.Hour))
	check(err)
	for range 4 {
		job, err := client.Get(ctx, receipt.ID)
		check(err)
		fmt.Println(job.Status, "after", job.Attempt, "attempts, of which", job.Counted(), "count")
		if job.Status == jobs.StatusDone {
			break
		}
		check(client.Update(ctx, receipt.ID, jobs.SetRunAfter(time.Now()))) // now instead of in an hour
		runner := newRunner(client)
		Ship.Handle(runner, ship)
		check(runner.Drain(ctx))
	}
	// Output:
	// scheduled after 0 attempts, of which 0 count
	// scheduled after 1 attempts, of which 0 count
	// scheduled after 2 attempts, of which 1 count
	// done after 3 attempts, of which 2 count
}

// printLabel returns Unable when its machine lacks the printer's program: another worker may have it.
func printLabel(ctx context.Context, _ jobs.Job, order Order) error {
	lp, err := exec.LookPath("sqluice-example-label-printer")
	if err != nil {
		return jobs.Unable(err)
	}
	return exec.CommandContext(ctx, lp, fmt.Sprint(order.ID)).Run()
}

// An attempt whose worker lacks what the job needs does not count.
func Example_unable() {
	ctx := context.Background()
	_, client, done := openShop(ctx)
	defer done()
	receipt, err := Ship.Enqueue(ctx, client, Order{ID: 7})
	check(err)
	runner := newRunner(client)
	Ship.Handle(runner, printLabel)
	check(runner.Drain(ctx))
	job, err := client.Get(ctx, receipt.ID)
	check(err)
	fmt.Println(job.Status, job.Counted())
	// Output: scheduled 0
}

// timed logs how long each attempt takes.
func timed(log *slog.Logger) jobs.RunMiddleware {
	return func(next jobs.RunFunc) jobs.RunFunc {
		return func(ctx context.Context, job jobs.Job) error {
			began := time.Now()
			err := next(ctx, job)
			log.Info("attempt", "kind", job.Kind, "took", time.Since(began), "error", err)
			return err
		}
	}
}

// Jobs start by priority first.
func Example_order() {
	ctx := context.Background()
	_, client, done := openShop(ctx)
	defer done()

	_, err := Ship.Enqueue(ctx, client, Order{ID: 1})
	check(err)
	_, err = Ship.Enqueue(ctx, client, Order{ID: 2}, jobs.Priority(5))
	check(err)
	_, err = Ship.Enqueue(ctx, client, Order{ID: 3})
	check(err)

	log := slog.New(slog.DiscardHandler)
	runner, err := jobs.NewRunner(client, jobs.Config{
		Queues:     map[string]int{jobs.DefaultQueue: 1}, // one job at a time
		Middleware: []jobs.RunMiddleware{timed(log)},
		Logger:     log,
	})
	check(err)
	Ship.Handle(runner, func(_ context.Context, _ jobs.Job, order Order) error {
		fmt.Println("ship", order.ID)
		return nil
	})
	check(runner.Drain(ctx))
	// Output:
	// ship 2
	// ship 1
	// ship 3
}
