//go:build linux

package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/sqluice/sqluice/internal/test/history"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// The roles of processes that change stored rows.
const (
	doRekey  = "rekey"
	doForget = "forget"
)

// enqueuerName begins the names of enqueuers, which only their payloads contain, and no other part of the database.
const enqueuerName = "enqueuer "

// keysOf returns the keys with some ids.
func keysOf(ids []string) []jobs.Key {
	list := make([]jobs.Key, len(ids))
	for i, id := range ids {
		secret := sha256.Sum256([]byte(id))
		list[i] = jobs.Key{ID: id, Secret: secret[:]}
	}
	return list
}

// cipherOf returns the cipher that encrypts with the first key; without keys it encrypts nothing.
func cipherOf(ids []string) (jobs.Cipher, error) {
	if len(ids) == 0 {
		return jobs.Cipher{}, nil
	}
	return jobs.NewCipher(keysOf(ids)...)
}

// rekey encrypts everything with the first key.
func (p *player) rekey(ctx context.Context) error {
	return until(ctx, "everything is encrypted with the new key", func() (bool, error) {
		done, err := inspect.New(p.client).Rekey(ctx, inspect.RekeyOptions{})
		if refused := (*jobs.RefusedError)(nil); errors.As(err, &refused) {
			return false, nil // other transactions had locked some jobs
		}
		if err == nil && done.Unreadable+done.Damaged > 0 {
			err = fmt.Errorf("%d values have other keys: %v; %d are damaged: %v", done.Unreadable, done.Keys, done.Damaged, done.DamagedAt)
		}
		return true, err
	})
}

// forget forgets a user, once more until none of the jobs is live, and records that.
func (p *player) forget(ctx context.Context) error {
	err := until(ctx, "the user is forgotten", func() (bool, error) {
		done, err := inspect.New(p.client).Forget(ctx, p.User)
		if refused := (*jobs.RefusedError)(nil); errors.As(err, &refused) {
			return false, nil
		}
		return done.Live == 0, err
	})
	if err != nil {
		return err
	}
	return p.notes.Write(history.Event{What: history.Forgotten, User: p.User})
}

// failsNow returns an error when the handler must fail, after it has recorded args as the job's progress.
func (p *player) failsNow(ctx context.Context, job jobs.Job, args label) error {
	if !p.Fails || p.number(8) > 0 {
		return nil
	}
	return errors.Join(job.SetProgress(ctx, args), fmt.Errorf("no luck with %s", args.Key))
}
