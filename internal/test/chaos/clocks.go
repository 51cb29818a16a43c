//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

// laneClocks sets the clock of one of two workers forward and back by an hour, also right before it is killed. It stops
// all processes for longer than their leases, like a laptop that sleeps. It lets workers run through the nights in
// which clocks change. All jobs are done, none twice under one attempt, and a sleep costs no job an attempt. On
// PostgreSQL, where only the server's clock counts, no job runs early.
func laneClocks() lane {
	return lane{number: 8, name: "clocks", engines: []string{onSQLite, onPostgres}, run: func(ctx context.Context, t *trial) error {
		return onQueue(ctx, t, func(f *fleet) error {
			rounds := 1
			if t.long {
				rounds = 100
			}
			for range rounds {
				if err := f.setClocks(ctx); err != nil {
					return fmt.Errorf("set clocks: %w", err)
				}
				if err := f.sleep(ctx); err != nil {
					return fmt.Errorf("sleep: %w", err)
				}
				for _, night := range nights() {
					if err := f.night(ctx, night); err != nil {
						return fmt.Errorf("the night of %s: %w", night, err)
					}
				}
			}
			_, _, err := f.judge(ctx)
			return err
		})
	}}
}

// clockWorker starts a worker of the lane.
func (f *fleet) clockWorker(name string, settable bool) (*process, error) {
	p, err := f.start(role{
		Do: "work", Name: fmt.Sprint(name, " ", len(f.all)), Lease: 3 * time.Second, Grace: time.Second, Slots: 4,
		Longest: 200 * time.Millisecond, Settable: settable,
	})
	if err == nil && settable {
		err = p.isSet()
	}
	return p, err
}

// later is a queue of jobs that are not due within the lane, unless a clock is wrong.
const later = "later"

func (f *fleet) setClocks(ctx context.Context) error {
	far, err := f.add(ctx, later, kind, jobs.In(50*time.Minute))
	if err != nil {
		return err
	}
	enqueuer, err := f.start(role{Do: "enqueue", Name: fmt.Sprint("enqueuer ", len(f.all))})
	if err != nil {
		return err
	}
	steady, err := f.clockWorker("steady", false)
	if err != nil {
		return err
	}
	wrong, err := f.clockWorker("wrong", true)
	if err != nil {
		return err
	}
	random := f.trial.random
	hours := 0
	for range f.trial.scaled(25) {
		if _, err := fmt.Fprintln(enqueuer.stdin, 20); err != nil {
			return err
		}
		if _, err := f.busy(ctx, []*process{wrong, steady}, func() error {
			_, err := fmt.Fprintln(enqueuer.stdin, 20)
			return err
		}); err != nil {
			return err
		}
		set := setForward
		if hours > 0 || hours == 0 && random.IntN(2) == 0 {
			set = setBack
		}
		if err := wrong.set(set); err != nil {
			return err
		}
		if set == setForward {
			hours++
		} else {
			hours--
		}
		f.trial.count(0, 1)
		time.Sleep(time.Duration(random.IntN(int(400 * time.Millisecond)))) // how long it is wrong
		if random.IntN(6) == 0 {
			if err := f.kill(wrong); err != nil {
				return err
			}
			f.trial.count(0, 1)
			hours = 0
			if wrong, err = f.clockWorker("wrong", true); err != nil {
				return err
			}
		}
	}
	for ; hours != 0; hours -= hours / max(hours, -hours) {
		set := setBack
		if hours < 0 {
			set = setForward
		}
		if err := wrong.set(set); err != nil {
			return err
		}
	}
	if err := f.notEarly(ctx, far); err != nil {
		return err
	}
	if err := enqueuer.release(); err != nil {
		return err
	}
	if err := f.drained(ctx); err != nil {
		return err
	}
	return errors.Join(steady.release(), wrong.release())
}

// set sets the clock of a process and waits until that is done.
func (p *process) set(s syscall.Signal) error {
	if err := p.signal(s); err != nil {
		return err
	}
	return p.isSet()
}

func (p *process) isSet() error {
	select {
	case said, open := <-p.acked:
		if open && said == saysSet {
			return nil
		}
		return fmt.Errorf("%s ended or says %d:\n%s", p.Name, said, p.stderr.last())
	case <-time.After(hang):
		return fmt.Errorf("%s does not set its clock:\n%s", p.Name, p.stderr.last())
	}
}

// notEarly checks a job that is not due yet. On SQLite each process uses its machine's clock.
func (f *fleet) notEarly(ctx context.Context, id int64) error {
	job, err := f.client.Get(ctx, id)
	if err != nil {
		return err
	}
	switch {
	case f.trial.engine == onPostgres && job.Status != jobs.StatusScheduled:
		f.wrong("job %d, which is due at %s, is %s", id, job.RunAfter, job.Status)
	case job.Status != jobs.StatusScheduled:
		f.trial.say("a clock that was an hour ahead made a job due early, as it must on SQLite")
	}
	return f.client.Delete(ctx, id)
}

// sleepLease is long enough for awake workers to renew before another one judges their leases.
const sleepLease = 9 * time.Second

// sleep stops all processes while they work, and wakes them after their leases.
func (f *fleet) sleep(ctx context.Context) error {
	last, err := f.lastJob(ctx)
	if err != nil {
		return err
	}
	enqueuer, err := f.start(role{Do: "enqueue", Name: fmt.Sprint("enqueuer ", len(f.all))})
	if err != nil {
		return err
	}
	var workers []*process
	for range 3 {
		p, err := f.start(role{
			Do: "work", Name: fmt.Sprint("sleeper ", len(f.all)), Lease: sleepLease, Grace: time.Second, Slots: 4, Longest: time.Second,
		})
		if err != nil {
			return err
		}
		workers = append(workers, p)
	}
	if _, err := f.busy(ctx, workers, func() error {
		_, err := fmt.Fprintln(enqueuer.stdin, 100)
		return err
	}); err != nil {
		return err
	}
	all := append([]*process{enqueuer}, workers...)
	for _, p := range all {
		if err := p.stop(); err != nil {
			return err
		}
	}
	time.Sleep(sleepLease + time.Second) // the fault
	for _, i := range f.trial.random.Perm(len(all)) {
		if err := all[i].signal(syscall.SIGCONT); err != nil {
			return err
		}
	}
	f.trial.count(0, len(all))
	if err := f.endAll(ctx, []*process{enqueuer}, workers); err != nil {
		return err
	}
	list, err := allJobs(ctx, f.client)
	for _, job := range list {
		if job.ID > last {
			f.uncharged(job)
		}
	}
	return err
}
