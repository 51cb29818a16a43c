//go:build linux

package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/test/faultvfs"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

// lanePower computes the files that a loss of power leaves of a database: at any moment, with any subset of the sectors
// not yet synced. With durability full all acknowledged jobs are there. With normal the queue is in a state that it had
// at some time. The file is sound in both.
func lanePower() lane {
	return lane{number: 4, name: "power loss", engines: []string{onSQLite}, run: powerLoss}
}

func powerLoss(ctx context.Context, t *trial) error {
	rounds := 1
	if t.long {
		rounds = 50
	}
	for round := range rounds {
		for _, durability := range []sqlite.Durability{sqlite.Normal, sqlite.Full} {
			dir := filepath.Join(t.dir, fmt.Sprint("power", round, "-", durability))
			if err := t.powerRound(ctx, dir, durability); err != nil {
				return fmt.Errorf("round %d, durability %d: %w", round, durability, err)
			}
			if err := os.RemoveAll(dir); err != nil {
				return err
			}
		}
	}
	return nil
}

// state is the queue after an acknowledged write, and the moment of the acknowledgement.
type state struct {
	sum    string
	moment int
	jobs   int
}

// The size of a round.
const (
	powerWrites = 150
	powerImages = 30
)

func (t *trial) powerRound(ctx context.Context, dir string, durability sqlite.Durability) (err error) {
	live := filepath.Join(dir, "live")
	if err := os.MkdirAll(live, 0o700); err != nil {
		return err
	}
	fs, err := faultvfs.Install(live)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, fs.Remove()) }()
	if err := fs.Record(); err != nil {
		return err
	}
	states, err := t.powerWork(ctx, fs, filepath.Join(live, "jobs.db"), durability)
	if err != nil {
		return err
	}
	end := fs.Moment()
	for i := range t.scaled(powerImages) {
		moment := 1 + t.random.IntN(end)
		kept := []float64{0, 0.3, 0.9, 0.99}[t.random.IntN(4)]
		image := filepath.Join(dir, fmt.Sprint("image", i))
		if err := fs.Image(image, moment, kept, t.random); err != nil {
			return err
		}
		name := fmt.Sprintf("durability %d, power lost at write %d of %d, %g of the unsynced sectors kept", durability, moment, end, kept)
		found, err := checkPower(ctx, filepath.Join(image, "jobs.db"), states, moment, durability)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		t.find(found.named(name))
		t.count(0, 1)
		if err := os.RemoveAll(image); err != nil {
			return err
		}
	}
	t.count(states[len(states)-1].jobs, 0)
	return nil
}

// powerWork makes a queue and writes to it, one transaction after the other, and records the state after each.
func (t *trial) powerWork(ctx context.Context, fs *faultvfs.FS, path string, durability sqlite.Durability) (states []state, err error) {
	store, err := sqlite.Open(ctx, path, sqlite.WithDurability(durability), sqlite.WithLogger(quiet()))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	client := jobs.New(store)
	if _, err := client.Migrate(ctx); err != nil {
		return nil, err
	}
	w := &hand{store: store, client: client, ledger: newLedger(), pad: strings.Repeat("x", 20_000)}
	if err := w.register(ctx); err != nil {
		return nil, err
	}
	for n := 0; ; n++ {
		list, err := allJobs(ctx, client)
		if err != nil {
			return nil, err
		}
		states = append(states, state{digest(list), fs.Moment(), len(list)})
		if n == powerWrites {
			return states, nil
		}
		switch dice := t.random.IntN(10); {
		case dice < 4:
			err = w.ledger.enqueue(ctx, client, w.pad, fmt.Sprint("job ", n))
		case dice < 5:
			err = w.ledger.enqueue(ctx, client, w.pad, fmt.Sprint("a ", n), fmt.Sprint("b ", n), fmt.Sprint("c ", n))
		case dice < 7:
			err = w.claim(ctx)
		case dice < 9:
			err = w.complete(ctx)
		case len(list) > 0:
			err = w.remove(ctx, list[t.random.IntN(len(list))])
		}
		if err != nil {
			return nil, err
		}
	}
}

// hand does a worker's transactions one by one.
type hand struct {
	store  jobs.Store
	client *jobs.Client
	ledger *ledger
	pad    string
	id     int64
	held   []db.ClaimJobsRow
}

func (w *hand) register(ctx context.Context) error {
	return engine.StoreOf(w.store).Write(ctx, func(ctx context.Context, q db.Querier) (err error) {
		now := engine.StoreOf(w.store).Now()
		w.id, err = q.RegisterWorker(ctx, db.RegisterWorkerParams{
			Name: "hand", Host: "here", Pid: 1, Queues: `{"default":10}`, Kinds: `["` + kind + `"]`,
			Now: now.UnixMicro(), LeaseUntil: now.Add(time.Hour).UnixMicro(),
		})
		return err
	})
}

func (w *hand) claim(ctx context.Context) error {
	var rows []db.ClaimJobsRow
	err := engine.StoreOf(w.store).Write(ctx, func(ctx context.Context, q db.Querier) (err error) {
		now := engine.StoreOf(w.store).Now()
		rows, err = q.ClaimJobs(ctx, db.ClaimJobsParams{
			WorkerID: w.id, LeaseUntil: now.Add(time.Hour).UnixMicro(), Now: now.UnixMicro(), Kinds: `["` + kind + `"]`,
			Queue: jobs.DefaultQueue, N: 3,
		})
		return err
	})
	w.held = append(w.held, rows...)
	return err
}

func (w *hand) complete(ctx context.Context) error {
	if len(w.held) == 0 {
		return nil
	}
	row := w.held[0]
	w.held = w.held[1:]
	return engine.StoreOf(w.store).Write(ctx, func(ctx context.Context, q db.Querier) error {
		n, err := q.CompleteJobs(ctx, db.CompleteJobsParams{
			Now: engine.StoreOf(w.store).Now().UnixMicro(), WorkerID: w.id, Attempt: row.Attempt, Ids: fmt.Sprintf("[%d]", row.ID),
		})
		if err == nil && n != 1 {
			err = fmt.Errorf("job %d, which is held, was not completed", row.ID)
		}
		return err
	})
}

// remove deletes a job, which makes room in pages that later ones take.
func (w *hand) remove(ctx context.Context, job jobs.Job) error {
	err := w.client.Delete(ctx, job.ID)
	if errors.Is(err, jobs.ErrStatus) { // it is held
		return nil
	}
	return err
}

// checkPower checks the files after a loss of power. The state may include the write under way, which was not
// acknowledged.
func checkPower(ctx context.Context, path string, states []state, moment int, durability sqlite.Durability) (t tally, err error) {
	acknowledged := -1 // the last state
	for i, s := range states {
		if s.moment <= moment {
			acknowledged = i
		}
	}
	if !exists(path) && acknowledged < 0 {
		return t, nil
	}
	store, err := sqlite.Open(ctx, path, sqlite.WithLogger(quiet()))
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	damage, err := integrity(ctx, path)
	if err != nil {
		return t, err
	}
	if damage != "ok" {
		t.other = append(t.other, "the database is damaged: "+damage)
	}
	client := jobs.New(store)
	has, err := engine.StoreOf(store).Migrations().Schema(ctx)
	if err != nil {
		return t, err
	}
	if has.Check() != nil {
		// The power failed before the migrations had reached the disk. They can be run again.
		if durability == sqlite.Full && acknowledged >= 0 {
			t.lost = append(t.lost, fmt.Sprintf("the schema is version %d, not %d", has.Have, has.Want))
		}
		if _, err := client.Migrate(ctx); err != nil {
			return t, err
		}
	}
	list, err := allJobs(ctx, client)
	if err != nil {
		return t, err
	}
	sum := digest(list)
	found := -1
	for i, s := range states[:min(acknowledged+2, len(states))] {
		if s.sum == sum {
			found = i
		}
	}
	switch {
	case found < 0 && len(list) > 0:
		t.other = append(t.other, fmt.Sprintf("the %d jobs are as they never were", len(list)))
	case durability == sqlite.Full && found < acknowledged:
		t.lost = append(t.lost, fmt.Sprintf("the jobs are as after write %d, and write %d was acknowledged", found, acknowledged))
	}
	return t, nil
}

// digest returns a short summary of the jobs.
func digest(list []jobs.Job) string {
	slices.SortFunc(list, func(a, b jobs.Job) int { return int(a.ID - b.ID) })
	hash := sha256.New()
	for _, job := range list {
		var p label
		if err := json.Unmarshal(job.Payload, &p); err != nil {
			p.Key = err.Error() // and so it differs from all written states
		}
		fmt.Fprintln(hash, job.ID, p.Key, len(p.Pad), job.Status, job.Attempt, job.WorkerID)
	}
	return string(hash.Sum(nil))
}
