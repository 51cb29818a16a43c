//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"

	"github.com/sqluice/sqluice/internal/test/history"
)

// laneKill kills processes and stops them for a while, at any moment while jobs are added and run. No acknowledged job
// is lost, no attempt starts twice, no end is accepted from an attempt that was over, and no unique key has two live
// jobs but the running one and its successor. Of the payloads that unique modes and updates give a job the newest one runs.
func laneKill() lane {
	return lane{number: 1, name: "kill and stop", engines: []string{onSQLite, onPostgres}, run: func(ctx context.Context, t *trial) error {
		return onQueue(ctx, t, func(f *fleet) error { return f.killing(ctx, 9, 3, t.scaled(10_000), t.scaled(200)) })
	}}
}

// laneKillMany returns the same lane with 64 processes, or fewer in a small form. They slow each other down where there
// are few processors: only the long form has as many jobs and faults as the other lane.
func laneKillMany() lane {
	return lane{number: 12, name: "kill and stop 64", engines: []string{onSQLite, onPostgres}, run: func(ctx context.Context, t *trial) error {
		return onQueue(ctx, t, func(f *fleet) error {
			return f.killing(ctx, max(2, min(56, t.scaled(56))), max(1, min(8, t.scaled(8))), t.scaled(1000), t.scaled(60))
		})
	}}
}

// The fleets of the lanes. Leases end while a process is stopped for long.
const (
	killLease   = 1500 * time.Millisecond
	killSlots   = 8
	killLongest = 150 * time.Millisecond // of a handler
)

// killer is one run of the lane.
type killer struct {
	*fleet
	workers, enqueuers []*process
	acked              int               // jobs that enqueuers report as acknowledged
	halted             map[*process]bool // stopped
	back               chan *process     // those of them that are due to resume
	keys               []string          // of the processes that it starts; with keys their handlers fail now and then
	limitKeys          int               // of the jobs of its enqueuers
}

func (f *fleet) killing(ctx context.Context, workers, enqueuers, jobs, faults int) error {
	if f.trial.long {
		jobs, faults = 1_000_000, 10_000
	}
	k := &killer{fleet: f, halted: map[*process]bool{}, back: make(chan *process, workers+enqueuers)}
	for range workers {
		if err := k.replace(nil); err != nil {
			return err
		}
	}
	for range enqueuers {
		if err := k.replaceEnqueuer(nil); err != nil {
			return err
		}
	}
	random := f.trial.random
	for i := range faults {
		if err := k.ask(random.IntN(enqueuers), (jobs+faults-1)/faults); err != nil {
			return err
		}
		// This is the time of the fault; it waits for nothing.
		time.Sleep(time.Duration(random.IntN(int(60 * time.Millisecond))))
		// The pick-up time of a killed process's jobs is measured without stopped processes, which may be in the middle
		// of a write.
		calm := i >= faults*6/10
		if calm {
			if err := k.resumeAll(); err != nil {
				return err
			}
		}
		if err := k.fault(calm); err != nil {
			return err
		}
		k.collect()
	}
	if err := k.resumeAll(); err != nil {
		return err
	}
	if err := k.topUp(ctx, jobs); err != nil {
		return err
	}
	if err := f.endAll(ctx, k.enqueuers, k.workers); err != nil {
		return err
	}
	f.trial.count(0, faults)
	events, _, err := f.judge(ctx)
	f.trial.pickups = history.Pickups(events, f.ends)
	if err == nil && !slices.ContainsFunc(events, func(e history.Event) bool { return e.What == history.Ok }) {
		err = errors.New("no worker has recorded a committed end: faults of ends would not be seen")
	}
	if err == nil && jobs >= 1000 && (f.report.Replaced == 0 || f.report.Updated == 0) {
		err = errors.New("no payload was replaced or updated: faults of that would not be seen")
	}
	return err
}

// fault kills or stops a process that is not stopped already.
func (k *killer) fault(calm bool) error {
	random := k.trial.random
	var running []*process
	for _, p := range append(append([]*process{}, k.workers...), k.enqueuers...) {
		if !k.halted[p] {
			running = append(running, p)
		}
	}
	if len(running) == 0 {
		return k.resume()
	}
	p := running[random.IntN(len(running))]
	if !calm && random.IntN(10) < 4 {
		return k.stop(p)
	}
	if err := k.kill(p); err != nil {
		return err
	}
	if !calm {
		delete(k.ends, p.Name)
	}
	if p.Do == "enqueue" {
		return k.replaceEnqueuer(p)
	}
	return k.replace(p)
}

// stop stops a process for a while, which may be longer than its lease.
func (k *killer) stop(p *process) error {
	random := k.trial.random
	pause := time.Duration(random.IntN(int(300 * time.Millisecond)))
	if random.IntN(4) == 0 {
		pause = killLease + time.Duration(random.IntN(int(killLease)))
	}
	if err := p.signal(syscall.SIGSTOP); err != nil {
		return err
	}
	k.halted[p] = true
	time.AfterFunc(pause, func() { k.back <- p })
	return nil
}

// resume lets the next due process continue, and waits for that.
func (k *killer) resume() error {
	p := <-k.back
	delete(k.halted, p)
	return p.signal(syscall.SIGCONT)
}

func (k *killer) resumeAll() error {
	for len(k.halted) > 0 {
		if err := k.resume(); err != nil {
			return err
		}
	}
	return nil
}

// collect checks, without waiting, which processes must continue, and reads the output of the enqueuers.
func (k *killer) collect() {
	for {
		select {
		case p := <-k.back:
			delete(k.halted, p)
			if err := p.signal(syscall.SIGCONT); err != nil {
				k.trial.say("resume %s: %v", p.Name, err)
			}
			continue
		default:
		}
		break
	}
	for _, p := range k.enqueuers {
		k.take(p)
	}
}

// take adds up an enqueuer's report.
func (k *killer) take(p *process) {
	for {
		select {
		case n, open := <-p.acked:
			if !open {
				return
			}
			k.acked += n
		default:
			return
		}
	}
}

// ask asks an enqueuer to add jobs. It may have died or be stopped: others are asked at the end.
func (k *killer) ask(i, n int) error {
	_, err := fmt.Fprintln(k.enqueuers[i].stdin, n)
	if errors.Is(err, syscall.EPIPE) {
		return fmt.Errorf("%s has ended:\n%s", k.enqueuers[i].Name, k.enqueuers[i].stderr.last())
	}
	return err
}

// topUp adds the jobs that killed enqueuers did not add.
func (k *killer) topUp(ctx context.Context, jobs int) error {
	const portion = 50 // after which an enqueuer reports its progress
	for asked, i := k.acked, 0; asked < jobs; i++ {
		n := min(portion, jobs-asked)
		if err := k.ask(i%len(k.enqueuers), n); err != nil {
			return err
		}
		asked += n
	}
	for k.acked < jobs {
		before := k.acked
		err := until(ctx, "an enqueuer has added some of what was left", func() (bool, error) {
			k.collect()
			return k.acked > before, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// replace starts a worker instead of one, or one more.
func (k *killer) replace(old *process) error {
	p, err := k.start(role{
		Do: "work", Name: fmt.Sprint("worker ", len(k.all)), Lease: killLease, Grace: time.Second, Slots: killSlots, Longest: killLongest,
		Keys: k.keys, Fails: len(k.keys)+k.limitKeys > 0, LimitKeys: k.limitKeys,
	})
	if err == nil {
		k.workers = replaced(k.workers, old, p)
	}
	return err
}

func (k *killer) replaceEnqueuer(old *process) error {
	if old != nil {
		k.take(old)
	}
	p, err := k.start(role{Do: "enqueue", Name: fmt.Sprint(enqueuerName, len(k.all)), Modes: k.limitKeys == 0, Keys: k.keys, LimitKeys: k.limitKeys})
	if err == nil {
		k.enqueuers = replaced(k.enqueuers, old, p)
	}
	return err
}

func replaced(list []*process, old, p *process) []*process {
	for i := range list {
		if list[i] == old {
			list[i] = p
			return list
		}
	}
	return append(list, p)
}
