//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/sqluice/sqluice/internal/test/faultvfs"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

// laneFaults makes the disk fail at each file operation, one after the other, of enqueueing, working, migrating,
// backing up, opening and closing. Acknowledged jobs are there, also when the process dies right then; refused ones are
// not. No attempt runs twice or is charged. The database is sound, and the store that was open all along works as soon
// as the disk does.
func laneFaults() lane {
	return lane{number: 3, name: "disk faults", engines: []string{onSQLite}, run: faults}
}

// faultLabs is the number of concurrent runs: they mostly wait.
const faultLabs = 8

// faultLab runs operations with faults below them, one after the other.
type faultLab struct {
	*trial
	fs    *faultvfs.FS
	dir   string
	seeds string // the folder of the databases that operations begin with
	runs  int
}

func faults(ctx context.Context, t *trial) (err error) {
	seeds := filepath.Join(t.dir, "seeds")
	if err := makeSeeds(ctx, seeds); err != nil {
		return err
	}
	labs := make([]*faultLab, faultLabs)
	for i := range labs {
		dir := filepath.Join(t.dir, fmt.Sprint("lab", i))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		fs, err := faultvfs.Install(dir)
		if err != nil {
			return err
		}
		labs[i] = &faultLab{trial: t, fs: fs, dir: dir, seeds: seeds}
	}
	defer func() {
		for _, lab := range slices.Backward(labs) {
			err = errors.Join(err, lab.fs.Remove())
		}
	}()
	list, err := labs[0].plan(ctx)
	if err != nil {
		return err
	}
	work := make(chan injection)
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var all sync.WaitGroup
	for _, lab := range labs {
		all.Go(func() {
			for i := range work {
				if _, err := lab.run(ctx, i); err != nil {
					stop(fmt.Errorf("%s: %w", i, err))
				}
			}
		})
	}
	for _, i := range list {
		select {
		case work <- i:
		case <-ctx.Done():
		}
	}
	close(work)
	all.Wait()
	return context.Cause(ctx)
}

// plan runs each operation without a fault, to count its file operations, and returns the runs to make.
func (l *faultLab) plan(ctx context.Context) ([]injection, error) {
	var list []injection
	for _, op := range operations() {
		for _, durability := range []sqlite.Durability{sqlite.Normal, sqlite.Full} {
			plain := injection{op: op, durability: durability}
			seen, err := l.run(ctx, plain)
			if err != nil {
				return nil, fmt.Errorf("%s without a fault: %w", op.name, err)
			}
			some := l.injections(plain, seen)
			l.say("%s: %d operations on files, %d runs with a fault", op.name, seen.Ops[faultvfs.Any], len(some))
			list = append(list, some...)
		}
	}
	return list, nil
}

// injection is a fault below an operation.
type injection struct {
	op         operation
	durability sqlite.Durability
	plan       faultvfs.Plan
}

func (i injection) String() string {
	return fmt.Sprintf("%s, durability %d, %s at operation %d for %d", i.op.name, i.durability, i.plan.Fault, i.plan.At, max(1, i.plan.For))
}

// perOperation is the number of runs with each fault that the short form makes of an operation.
const perOperation = 6

// injections returns the plans for an operation with the file operations in seen.
func (l *faultLab) injections(plain injection, seen faultvfs.Seen) []injection {
	var list []injection
	for _, fault := range []faultvfs.Fault{faultvfs.Fail, faultvfs.Full, faultvfs.Short} {
		for _, how := range []int{1, 5} {
			fitting := 0
			for k := faultvfs.Open; k <= faultvfs.LockShared; k++ {
				if fault.Fits(k) {
					fitting += seen.Ops[k]
				}
			}
			places := l.random.Perm(fitting)
			if most := max(1, l.scaled(perOperation)/max(1, plain.op.dear)); !l.long && len(places) > most {
				places = places[:most]
			}
			for _, place := range places {
				plain.plan = faultvfs.Plan{At: place + 1, For: how, Fault: fault}
				list = append(list, plain)
			}
		}
	}
	return list
}

// run makes one operation, with a fault if the plan has one, and checks the result.
func (l *faultLab) run(ctx context.Context, i injection) (seen faultvfs.Seen, err error) {
	l.runs++
	dir := filepath.Join(l.dir, fmt.Sprint("run", l.runs))
	if err := copyFolder(filepath.Join(l.seeds, i.op.seed), dir); err != nil {
		return seen, err
	}
	s := &subject{lab: l, dir: dir, path: filepath.Join(dir, "jobs.db"), ledger: newLedger(), injection: i}
	if i.op.seed != "" {
		if err := s.readSeed(ctx); err != nil {
			return seen, err
		}
	}
	if !i.op.opens {
		if err := s.open(ctx); err != nil {
			return seen, fmt.Errorf("open: %w", err)
		}
	}
	if !i.op.arms {
		s.arm()
	}
	s.err = i.op.do(ctx, s)
	seen = l.fs.Disarm()
	if seen.Hits == 0 && s.err != nil {
		return seen, errors.Join(s.err, s.close())
	}
	if err := s.check(ctx, i); err != nil {
		return seen, errors.Join(err, s.close())
	}
	l.count(len(s.ledger.added), seen.Hits)
	return seen, errors.Join(s.close(), os.RemoveAll(dir))
}

// copyFolder copies the files of a folder that no process writes to. SQLite's shared memory dies with its processes,
// and is left out.
func copyFolder(from, to string) error {
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	list, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, entry := range list {
		if !entry.Type().IsRegular() || filepath.Ext(entry.Name()) == ".db-shm" {
			continue
		}
		data, err := os.ReadFile(filepath.Join(from, entry.Name()))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, entry.Name()), data, 0o600); err != nil {
			return err
		}
	}
	return nil
}
