package sqlite_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

// Greeting is the payload of a job that greets a person.
type Greeting struct{ Name string }

// Greet is a kind of job: its name in the database and the type of its payload.
var Greet = jobs.Kind[Greeting]{Name: "greet", MaxAttempts: 5}

// A program that enqueues a job and runs it. A service runs Run in a goroutine and ends it by cancelling its context.
func Example() {
	path := tempFile()
	defer os.RemoveAll(filepath.Dir(path))

	ctx := context.Background()
	store, err := sqlite.Open(ctx, path)
	check(err)
	defer store.Close()
	client := jobs.New(store)
	_, err = client.Migrate(ctx)
	check(err)

	_, err = Greet.Enqueue(ctx, client, Greeting{Name: "Ada"})
	check(err)

	runner, err := jobs.NewRunner(client, jobs.Config{Queues: map[string]int{"default": 4}})
	check(err)
	Greet.Handle(runner, func(ctx context.Context, job jobs.Job, args Greeting) error {
		fmt.Println("Hello,", args.Name)
		return nil
	})
	check(runner.Drain(ctx)) // Run(ctx) runs until ctx ends
	// Output: Hello, Ada
}

// A live job with the same unique key is found, and no second one is added.
func ExampleOpen_unique() {
	ctx := context.Background()
	client, closeStore := openQueue(ctx)
	defer closeStore()

	first, err := Greet.Enqueue(ctx, client, Greeting{Name: "Ada"}, jobs.Unique("ada"))
	check(err)
	second, err := Greet.Enqueue(ctx, client, Greeting{Name: "Ada"}, jobs.Unique("ada"))
	check(err)
	fmt.Println(second.Existed, second.ID == first.ID)
	// Output: true true
}

// A job that is enqueued in a transaction exists if and only if the transaction commits.
func ExampleTx() {
	ctx := context.Background()
	pool, client, closeBoth := openShared(ctx)
	defer closeBoth()

	tx, err := pool.BeginTx(ctx, nil)
	check(err)
	receipt, err := Greet.Enqueue(ctx, client.With(sqlite.Tx(tx)), Greeting{Name: "Ada"})
	check(err)
	check(tx.Rollback())

	_, err = client.Get(ctx, receipt.ID)
	fmt.Println(err)
	// Output: get job 1: no such job
}

// A handler that commits its own writes and the end of its job together takes effect once, whatever dies when.
func ExampleTx_complete() {
	ctx := context.Background()
	pool, client, closeBoth := openShared(ctx)
	defer closeBoth()
	_, err := pool.ExecContext(ctx, "CREATE TABLE greetings (name TEXT NOT NULL)")
	check(err)
	receipt, err := Greet.Enqueue(ctx, client, Greeting{Name: "Ada"})
	check(err)

	runner, err := jobs.NewRunner(client, jobs.Config{})
	check(err)
	Greet.Handle(runner, func(ctx context.Context, job jobs.Job, args Greeting) error {
		tx, err := pool.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback() // does nothing after the commit
		if _, err := tx.ExecContext(ctx, "INSERT INTO greetings (name) VALUES (?)", args.Name); err != nil {
			return err
		}
		if err := jobs.CompleteTx(ctx, sqlite.Tx(tx), job, "greeted"); err != nil {
			return err
		}
		return tx.Commit()
	})
	check(runner.Drain(ctx))

	job, err := client.Get(ctx, receipt.ID)
	check(err)
	fmt.Println(job.Status, string(job.Result))
	// Output: done "greeted"
}

// check represents a program's own error handling.
func check(err error) {
	if err != nil {
		log.Panic(err)
	}
}

// tempFile returns a path in a new folder.
func tempFile() string {
	folder, err := os.MkdirTemp("", "sqluice-example-")
	check(err)
	return filepath.Join(folder, "jobs.db")
}

// openQueue opens a fresh queue; the function it returns closes and removes it.
func openQueue(ctx context.Context) (*jobs.Client, func()) {
	store, err := sqlite.Open(ctx, tempFile())
	check(err)
	client := jobs.New(store)
	_, err = client.Migrate(ctx)
	check(err)
	return client, func() {
		check(store.Close())
		check(os.RemoveAll(filepath.Dir(store.Path())))
	}
}

// openShared opens an application's own pool and the queue in the same file.
func openShared(ctx context.Context) (*sql.DB, *jobs.Client, func()) {
	pool, err := sql.Open("sqlite", "file:"+tempFile()+"?_txlock=immediate&_pragma=busy_timeout(5000)")
	check(err)
	store, err := sqlite.New(ctx, pool)
	check(err)
	client := jobs.New(store)
	_, err = client.Migrate(ctx)
	check(err)
	return pool, client, func() {
		check(store.Close())
		check(pool.Close())
		check(os.RemoveAll(filepath.Dir(store.Path())))
	}
}
