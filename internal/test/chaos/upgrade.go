//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"

	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/receipts"
	"github.com/sqluice/sqluice/internal/test/history"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// laneUpgrade kills migrations, and runs the program of the version before beside this one. Each refuses the other's
// schema and writes nothing, except that the one before runs on a schema whose migrations say so. A migration under a worker loses none of its
// jobs, and stops the worker where its program is refused. Jobs of a kind that no program knows stay pending.
func laneUpgrade() lane {
	return lane{number: 10, name: "upgrades", engines: []string{onSQLite, onPostgres}, run: func(ctx context.Context, t *trial) error {
		return onQueue(ctx, t, func(f *fleet) error {
			if err := f.killMigrations(ctx); err != nil {
				return fmt.Errorf("kill migrations: %w", err)
			}
			if err := f.newerRefuses(ctx); err != nil {
				return fmt.Errorf("this version on the schema before: %w", err)
			}
			before, err := buildBefore(ctx, t.dir)
			switch {
			case errors.Is(err, errNoHistory):
				t.say("the version before is not tested beside this one: %v", err)
			case err != nil:
				return err
			default:
				if err := f.upgradeBelow(ctx, before); err != nil {
					return fmt.Errorf("the version before: %w", err)
				}
			}
			_, _, err = f.judge(ctx)
			return err
		})
	}}
}

// ballast is a queue of jobs that migrations must handle.
const ballast = "ballast"

// killMigrations takes the schema some versions back, again and again, and kills a process that migrates.
func (f *fleet) killMigrations(ctx context.Context) error {
	payloads := slices.Repeat([]json.RawMessage{json.RawMessage(`{"key":"ballast"}`)}, 2000)
	ids, err := receipts.IDs(f.client.EnqueueMany(ctx, kind, payloads, jobs.Queue(ballast)))
	if err != nil {
		return err
	}
	want := f.trial.scaled(20)
	if f.trial.long {
		want = 1000
	}
	took := time.Duration(0) // to migrate, at most
	killed, begun := 0, 0
	for ; killed < want && begun < 10*want+10; begun++ {
		versions := 1 + f.trial.random.IntN(4)
		for range versions {
			if _, err := engine.StoreOf(f.client.Store()).Migrations().MigrateDown(ctx); err != nil {
				return fmt.Errorf("migrate down: %w", err)
			}
		}
		p, err := f.start(role{Do: doMigrate, Name: fmt.Sprint("migrator ", len(f.all))})
		if err != nil {
			return err
		}
		if said, open := <-p.acked; !open || said != saysMigrating {
			return fmt.Errorf("%s says %d:\n%s", p.Name, said, p.stderr.last())
		}
		began := time.Now()
		if took == 0 { // the first one may complete
			if err := p.end(); err != nil {
				return err
			}
			took = time.Since(began)
		} else {
			time.Sleep(time.Duration(f.trial.random.Int64N(int64(took)))) // the time of the fault
			if err := f.kill(p); err != nil {
				return err
			}
		}
		found, err := engine.StoreOf(f.client.Store()).Migrations().Schema(ctx)
		if err != nil {
			return err
		}
		if found.Check() != nil {
			killed++
		}
		if _, err := f.client.Migrate(ctx); err != nil {
			f.wrong("after a migration was killed at version %d, another one gives %v", found.Have, err)
			return nil
		}
	}
	if killed < want {
		return fmt.Errorf("of %d kills only %d came before the end of a migration", begun, killed)
	}
	f.trial.count(len(ids), killed)
	there := 0
	for after := int64(0); ; {
		page, err := inspect.New(f.client).List(ctx, inspect.Filter{Queue: ballast, Status: jobs.StatusPending, After: after, Limit: inspect.MaxPage})
		if err != nil {
			return err
		}
		if there += len(page); len(page) == 0 {
			break
		}
		after = page[len(page)-1].ID
	}
	if there != len(ids) {
		f.trial.find(tally{lost: []string{fmt.Sprintf("of %d jobs %d are there after migrations were killed", len(ids), there)}})
	}
	for list := range slices.Chunk(ids, inspect.MaxPage) {
		if _, err := inspect.New(f.client).DeleteMany(ctx, list); err != nil {
			return err
		}
	}
	return nil
}

// snapshot is everything that people see of the queue.
func (f *fleet) snapshot(ctx context.Context) (string, error) {
	list, err := allJobs(ctx, f.client)
	if err != nil {
		return "", err
	}
	workers, err := inspect.New(f.client).Workers(ctx)
	if err != nil {
		return "", err
	}
	counts, err := inspect.New(f.client).Counts(ctx)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal([]any{list, workers, counts})
	return string(text), err
}

// writesNothing checks that fn does not change the queue.
func (f *fleet) writesNothing(ctx context.Context, what string, fn func() error) error {
	before, err := f.snapshot(ctx)
	if err != nil {
		return err
	}
	if err := fn(); err != nil {
		return err
	}
	after, err := f.snapshot(ctx)
	if err == nil && before != after {
		f.wrong("%s has changed something: %s became %s", what, before, after)
	}
	return err
}

// newerRefuses starts a worker and an enqueuer of this version on the schema of the one before.
func (f *fleet) newerRefuses(ctx context.Context) error {
	return f.writesNothing(ctx, "this version on the schema before", func() error {
		if _, err := engine.StoreOf(f.client.Store()).Migrations().MigrateDown(ctx); err != nil {
			return err
		}
		for _, r := range []role{
			{Do: "work", Lease: 30 * time.Second, Grace: time.Second, Slots: 1, Longest: time.Second},
			{Do: "enqueue"},
		} {
			r.Name = fmt.Sprint("newer ", len(f.all))
			p, err := f.start(r)
			if err != nil {
				return err
			}
			if r.Do == "enqueue" {
				if _, err := fmt.Fprintln(p.stdin, 1); err != nil {
					return err
				}
			}
			f.refuses(p, "older")
		}
		_, err := f.client.Migrate(ctx)
		return err
	})
}

// refuses checks that a process ends by itself, with an error that names the schema.
func (f *fleet) refuses(p *process, says string) {
	f.trial.count(0, 1)
	select {
	case <-p.ended:
	case <-time.After(hang):
		f.wrong("%s, whose schema is another one, goes on:\n%s", p.Name, p.stderr.last())
		return
	}
	if p.err == nil || !p.stderr.holds(says) {
		f.wrong("%s, whose schema is another one, ends with %v and does not say %q:\n%s", p.Name, p.err, says, p.stderr.last())
	}
}

// countsSchema is the version from which on workers count the jobs that they end. Where one of a version before
// continued after the migration, the lane recounts, as docs/postgres.md tells people to.
const countsSchema = 9

// unknownKind is a kind that no worker has a handler for.
const unknownKind = "unknown"

// upgradeBelow migrates the schema under a worker of the version before.
func (f *fleet) upgradeBelow(ctx context.Context, before earlier) error {
	found, err := engine.StoreOf(f.client.Store()).Migrations().Schema(ctx)
	if err != nil {
		return err
	}
	if before.runsOn = found.RunsFrom != 0 && found.RunsFrom <= before.schema; !before.runsOn {
		if err := f.beforeRefuses(ctx, before); err != nil {
			return err
		}
	}
	for range f.trial.scaled(3) {
		if err := f.migrateBelow(ctx, before); err != nil {
			return err
		}
	}
	return nil
}

// beforeRefuses starts a worker and an enqueuer of the version before on this schema.
func (f *fleet) beforeRefuses(ctx context.Context, before earlier) error {
	return f.writesNothing(ctx, "the version before on this schema", func() error {
		worker, err := f.workBefore(before.program)
		if err != nil {
			return err
		}
		f.refuses(worker, "newer")
		enqueuer, err := f.command(before.program, nil, "enqueue", kind, `{"key":"refused"}`)
		if err != nil {
			return err
		}
		f.refuses(enqueuer, "newer")
		return nil
	})
}

// goesOn checks that a worker of the version before works on this schema, and stops it.
func (f *fleet) goesOn(ctx context.Context, before earlier, worker *process) error {
	f.trial.count(0, 1)
	if err := f.enqueueBefore(before.program, f.trial.scaled(200)); err != nil {
		return err
	}
	had, err := worker.events()
	if err != nil {
		return err
	}
	err = until(ctx, "the version before works on this schema", func() (bool, error) {
		events, err := worker.events()
		return len(events) > len(had), err
	})
	if err != nil {
		return fmt.Errorf("%w\n%s", err, worker.stderr.last())
	}
	if err := worker.signal(syscall.SIGTERM); err != nil {
		return err
	}
	return worker.end()
}

func (f *fleet) migrateBelow(ctx context.Context, before earlier) error {
	for {
		found, err := engine.StoreOf(f.client.Store()).Migrations().Schema(ctx)
		if err != nil {
			return err
		}
		if found.Have <= before.schema {
			break
		}
		if _, err := engine.StoreOf(f.client.Store()).Migrations().MigrateDown(ctx); err != nil {
			return err
		}
	}
	if err := f.enqueueBefore(before.program, f.trial.scaled(200)); err != nil {
		return err
	}
	stranger, err := f.command(before.program, nil, "enqueue", unknownKind, `{"key":"unknown"}`)
	if err != nil {
		return err
	}
	if err := stranger.end(); err != nil {
		return err
	}
	worker, err := f.workBefore(before.program)
	if err != nil {
		return err
	}
	err = until(ctx, "the version before works", func() (bool, error) {
		events, err := worker.events()
		return slices.ContainsFunc(events, func(e history.Event) bool { return e.What == history.Return }), err
	})
	if err != nil {
		return fmt.Errorf("%w\n%s", err, worker.stderr.last())
	}
	time.Sleep(time.Duration(f.trial.random.IntN(int(200 * time.Millisecond)))) // the time of the fault
	if _, err := f.client.Migrate(ctx); err != nil {
		return fmt.Errorf("migrate below a worker: %w", err)
	}
	if before.runsOn {
		if err := f.goesOn(ctx, before, worker); err != nil {
			return err
		}
	} else {
		f.refuses(worker, "newer")
	}
	if before.schema < countsSchema {
		if _, err := inspect.New(f.client).Recount(ctx); err != nil {
			return err
		}
	}
	next, err := f.start(role{
		Do: "work", Name: fmt.Sprint("worker ", len(f.all)), Lease: 30 * time.Second, Grace: time.Second, Slots: 10, Longest: 20 * time.Millisecond,
	})
	if err != nil {
		return err
	}
	var unknown []jobs.Job
	err = until(ctx, "this version has done what was left", func() (bool, error) {
		list, err := allJobs(ctx, f.client)
		unknown = nil
		for _, job := range list {
			switch {
			case job.Kind == unknownKind:
				unknown = append(unknown, job)
			case !job.Status.Final():
				return false, err
			}
		}
		return true, err
	})
	if err != nil {
		return fmt.Errorf("%w\n%s", err, next.stderr.last())
	}
	if err := next.release(); err != nil {
		return err
	}
	if len(unknown) != 1 {
		f.wrong("there are %d jobs of an unknown kind, not one", len(unknown))
	}
	for _, job := range unknown {
		if job.Status != jobs.StatusPending || job.Attempt != 0 {
			f.wrong("job %d, whose kind no program knows, is %s after %d attempts", job.ID, job.Status, job.Attempt)
		}
		if err := f.client.Delete(ctx, job.ID); err != nil {
			return err
		}
	}
	return nil
}
