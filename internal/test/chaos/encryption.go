//go:build linux

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/sqluice/sqluice/internal/test/history"
	"github.com/sqluice/sqluice/jobs"
)

// laneEncryption changes the key of an encrypted queue, twice, and forgets a user after each change. Meanwhile enqueuers, workers and the
// processes that rekey and forget are killed. No acknowledged job is lost, and handlers get the bytes that were enqueued. After a
// rekey everything is encrypted with the new key, and processes without the old one can decrypt it. Of a forgotten user nothing is left, and no
// handler begins after the receipt. No plain payload, result, progress or error is ever stored.
func laneEncryption() lane {
	return lane{number: 15, name: "encryption", engines: []string{onSQLite, onPostgres}, run: func(ctx context.Context, t *trial) error {
		return onQueue(ctx, t, func(f *fleet) error { return f.encrypting(ctx, t.scaled(4000), t.scaled(100)) })
	}}
}

// The fleet of the lane.
const (
	encryptingWorkers   = 4
	encryptingEnqueuers = 2
	keyChanges          = 2
	userLater           = 10 * time.Second       // the longest until jobs of a user are due: some wait when the user is forgotten
	userSoon            = 200 * time.Millisecond // and some run then
	encryptedSchedule   = "encrypted"
)

// keyChanger is one run of the lane.
type keyChanger struct {
	*killer
	faults int // done
}

func (f *fleet) encrypting(ctx context.Context, jobs, faults int) error {
	if f.trial.long {
		jobs, faults = 200_000, 3000
	}
	k := &keyChanger{killer: &killer{fleet: f, halted: map[*process]bool{}}}
	key := "key-0"
	if err := k.begin(ctx, key); err != nil {
		return err
	}
	for i := range keyChanges {
		user := fmt.Sprint("user ", i)
		theirs, err := k.addJobsOf(user, max(20, jobs/10), userLater)
		if err != nil {
			return err
		}
		if err := k.disturb(max(1, faults/keyChanges), max(1, jobs/max(1, faults))); err != nil {
			return err
		}
		if err := theirs.release(); err != nil {
			return err
		}
		next := fmt.Sprint("key-", i+1)
		if err := k.changeKey(ctx, key, next); err != nil {
			return fmt.Errorf("change the key: %w", err)
		}
		key = next
		if theirs, err = k.addJobsOf(user, max(20, jobs/10), userSoon); err != nil {
			return err
		}
		if err := theirs.release(); err != nil {
			return err
		}
		if err := k.insist(role{Do: doForget, User: user, Keys: k.keys}); err != nil {
			return err
		}
		if err := f.checkErased(ctx, user); err != nil {
			return err
		}
	}
	if err := k.end(ctx, jobs); err != nil {
		return err
	}
	f.trial.count(0, k.faults)
	return k.check(ctx, key)
}

// begin starts the processes, and adds a schedule.
func (k *keyChanger) begin(ctx context.Context, key string) error {
	if err := k.useKeys(key); err != nil {
		return err
	}
	for range encryptingWorkers {
		if err := k.replace(nil); err != nil {
			return err
		}
	}
	for range encryptingEnqueuers {
		if err := k.replaceEnqueuer(nil); err != nil {
			return err
		}
	}
	return k.client.PutSchedule(ctx, everySecond(encryptedSchedule))
}

// useKeys gives the keys to this process and to its later children.
func (k *keyChanger) useKeys(ids ...string) error {
	c, err := cipherOf(ids)
	if err != nil {
		return err
	}
	k.keys, k.client = ids, jobs.New(k.client.Store(), jobs.WithCipher(c)).Revealed()
	return nil
}

// addJobsOf starts an enqueuer that adds jobs of a user. It must have ended before the key changes, and before the user is forgotten.
func (k *keyChanger) addJobsOf(user string, n int, delay time.Duration) (*process, error) {
	p, err := k.start(role{Do: "enqueue", Name: fmt.Sprint(enqueuerName, len(k.all)), Keys: k.keys, User: user, Delay: delay})
	if err == nil {
		_, err = fmt.Fprintln(p.stdin, n)
	}
	return p, err
}

// disturb kills processes a number of times, and has a number of jobs added each time.
func (k *keyChanger) disturb(times, jobs int) error {
	for range times {
		if err := k.ask(k.trial.random.IntN(len(k.enqueuers)), jobs); err != nil {
			return err
		}
		if err := k.killOne(); err != nil {
			return err
		}
	}
	return nil
}

// killOne kills a process after a while, and starts another one in its place.
func (k *keyChanger) killOne() error {
	time.Sleep(time.Duration(k.trial.random.IntN(int(60 * time.Millisecond)))) // the time of the fault
	k.faults++
	err := k.fault(true)
	k.collect()
	return err
}

// changeKey changes the key as docs/security.md says.
func (k *keyChanger) changeKey(ctx context.Context, old, next string) error {
	if err := k.deploy(old, next); err != nil {
		return err
	}
	if err := k.deploy(next, old); err != nil {
		return err
	}
	if err := k.insist(role{Do: doRekey, Keys: k.keys}); err != nil {
		return err
	}
	if err := k.checkStored(ctx, next); err != nil {
		return err
	}
	return k.deploy(next)
}

// deploy kills all processes, one after the other, and starts others with some keys in their place.
func (k *keyChanger) deploy(ids ...string) error {
	if err := k.useKeys(ids...); err != nil {
		return err
	}
	for i := range k.workers {
		if err := k.kill(k.workers[i]); err != nil {
			return err
		}
		if err := k.replace(k.workers[i]); err != nil {
			return err
		}
	}
	for i := range k.enqueuers {
		if err := k.kill(k.enqueuers[i]); err != nil {
			return err
		}
		if err := k.replaceEnqueuer(k.enqueuers[i]); err != nil {
			return err
		}
	}
	k.faults += len(k.workers) + len(k.enqueuers)
	return nil
}

// insist starts a process in a role, and another one if it was killed, until one has ended by itself. Others are killed meanwhile.
func (k *keyChanger) insist(r role) error {
	for killed := k.trial.random.IntN(2) == 0; ; killed = false {
		r.Name = fmt.Sprint(r.Do, " ", len(k.all))
		p, err := k.start(r)
		if err != nil {
			return err
		}
		const most = 10
		for i := 0; i < most && !p.hasEnded(); i++ {
			if err := k.killOne(); err != nil {
				return err
			}
			if killed && i == 1 {
				k.faults++
				if err := k.kill(p); err != nil {
					return err
				}
			}
		}
		if !killed {
			return p.end()
		}
	}
}

// end adds the jobs that are missing, and ends the processes when all jobs have ended.
func (k *keyChanger) end(ctx context.Context, jobs int) error {
	if err := k.topUp(ctx, jobs); err != nil {
		return err
	}
	if _, err := k.client.PauseSchedule(ctx, encryptedSchedule); err != nil {
		return err
	}
	return k.endAll(ctx, k.enqueuers, k.workers)
}

// check compares the histories with the database, and reads the stored values.
func (k *keyChanger) check(ctx context.Context, key string) error {
	events, _, err := k.judge(ctx)
	if err != nil {
		return err
	}
	compared, failed := 0, 0
	for _, e := range events {
		if e.What == history.Start && e.Payload != "" {
			compared++
		}
	}
	if failed, err = k.checkErrors(ctx, key); err != nil {
		return err
	}
	k.trial.say("%d payloads compared, %d jobs of forgotten users, %d errors that handlers returned", compared, k.report.Forgotten, failed)
	if compared == 0 || k.report.Forgotten == 0 || failed == 0 {
		return fmt.Errorf("%d payloads were compared, there were %d jobs of forgotten users and %d errors: some faults would not be seen", compared, k.report.Forgotten, failed)
	}
	if err := k.checkStored(ctx, key); err != nil {
		return err
	}
	for i := range keyChanges {
		if err := k.checkErased(ctx, fmt.Sprint("user ", i)); err != nil {
			return err
		}
	}
	return k.checkFiles()
}
