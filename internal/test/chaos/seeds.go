//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

// makeSeeds makes the databases that operations begin with.
func makeSeeds(ctx context.Context, dir string) error {
	for _, name := range []string{seedQueue, seedCrash, seedOld} {
		if err := makeSeed(ctx, dir, name); err != nil {
			return fmt.Errorf("make the seed %s: %w", name, err)
		}
	}
	return nil
}

func makeSeed(ctx context.Context, dir, name string) (err error) {
	dir = filepath.Join(dir, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	store, err := sqlite.Open(ctx, filepath.Join(dir, "jobs.db"), sqlite.WithLogger(quiet()))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	client := jobs.New(store)
	if _, err := client.Migrate(ctx); err != nil {
		return err
	}
	known := newLedger()
	for i := range seedJobs {
		if err := known.enqueue(ctx, client, "", fmt.Sprint("seed ", i)); err != nil {
			return err
		}
	}
	text, err := json.Marshal(known.added)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "added.json"), text, 0o600); err != nil {
		return err
	}
	switch name {
	case seedOld:
		_, err = engine.StoreOf(store).Migrations().MigrateDown(ctx)
	case seedCrash:
		// Its files as they are before the close.
		image := dir + "-image"
		if err := copyFolder(dir, image); err != nil {
			return err
		}
		if err := store.Close(); err != nil {
			return err
		}
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
		err = os.Rename(image, dir)
	}
	return err
}

// readSeed enters the seed's jobs in the ledger.
func (s *subject) readSeed(context.Context) error {
	text, err := os.ReadFile(filepath.Join(s.dir, "added.json"))
	if err != nil {
		return err
	}
	return json.Unmarshal(text, &s.ledger.added)
}
