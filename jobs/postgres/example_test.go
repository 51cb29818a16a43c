package postgres_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/postgres"
)

// Welcome is the payload of a job that sends a mail.
type Welcome struct{ Address string }

var SendWelcome = jobs.Kind[Welcome]{Name: "welcome"}

// A worker that runs until it gets SIGTERM.
func Example() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	store, err := postgres.Open(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	runner, err := jobs.NewRunner(jobs.New(store), jobs.Config{Queues: map[string]int{"default": 50}})
	if err != nil {
		log.Fatal(err)
	}
	SendWelcome.Handle(runner, func(ctx context.Context, job jobs.Job, args Welcome) error {
		fmt.Println("welcome,", args.Address)
		return nil
	})
	if err := runner.Run(ctx); err != nil {
		log.Fatal(err)
	}
}

// The customer and the mail are committed together or not at all.
func ExampleTx() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	store, err := postgres.New(pool)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	client := jobs.New(store)

	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "INSERT INTO customers (address) VALUES ($1)", "ada@example.org"); err != nil {
			return err
		}
		_, err := SendWelcome.Enqueue(ctx, client.With(postgres.Tx(tx)), Welcome{"ada@example.org"})
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
}
