package guides_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

// Statement is the payload of a job that mails an account its statement.
type Statement struct{ Account string }

var MailStatement = jobs.Kind[Statement]{Name: "mail-statement"}

// shards are the clients of several databases, each with a queue of its own.
type shards []*jobs.Client

// of returns the client of the database that holds an account and its jobs.
func (s shards) of(account string) *jobs.Client {
	sum := fnv.New32a()
	sum.Write([]byte(account)) // never returns an error
	return s[int(sum.Sum32()%uint32(len(s)))]
}

// work runs one runner for each database until ctx ends. If one of them returns an error, the others stop as well.
func (s shards) work(ctx context.Context, handler jobs.Handler[Statement], config jobs.Config) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	runners := make([]*jobs.Runner, len(s))
	for i, client := range s {
		runner, err := jobs.NewRunner(client, config)
		if err != nil {
			return err
		}
		MailStatement.Handle(runner, handler)
		runners[i] = runner
	}
	errs := make([]error, len(s))
	var running sync.WaitGroup
	for i, runner := range runners {
		running.Go(func() {
			defer stop()
			errs[i] = runner.Run(ctx)
		})
	}
	running.Wait()
	return errors.Join(errs...)
}

// docs/scale.md
func Example_scale() {
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "sqluice-guide-")
	check(err)
	defer func() { check(os.RemoveAll(folder)) }()
	var all shards
	for _, name := range []string{"one.db", "two.db"} {
		store, err := sqlite.Open(ctx, filepath.Join(folder, name))
		check(err)
		defer func() { check(store.Close()) }()
		client := jobs.New(store)
		_, err = client.Migrate(ctx)
		check(err)
		all = append(all, client)
	}

	running, stop := context.WithCancel(ctx)
	stopped := make(chan error)
	go func() {
		stopped <- all.work(running, func(_ context.Context, job jobs.Job, args Statement) error {
			return job.SetResult("mailed to " + args.Account)
		}, jobs.Config{Logger: slog.New(slog.DiscardHandler)})
	}()
	for _, account := range []string{"ada", "bob", "eve"} {
		client := all.of(account)
		receipt, err := MailStatement.Enqueue(ctx, client, Statement{Account: account}, jobs.Unique(account))
		check(err)
		job, err := client.Wait(ctx, receipt.ID)
		check(err)
		fmt.Println(map[*jobs.Client]string{all[0]: "one.db", all[1]: "two.db"}[client], string(job.Result))
	}
	stop()
	check(<-stopped)
	// Output:
	// two.db "mailed to ada"
	// one.db "mailed to bob"
	// two.db "mailed to eve"
}
