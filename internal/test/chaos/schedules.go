//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

// laneSchedules kills workers that serve schedules of one second, those of a running system and those of the workers' code, also in
// the middle of a rolling deploy of a version that declares others. No tick has two jobs. Each tick has one, from the first one on to
// the last one before the schedule was paused, or before the last worker that declared it ended. Then a clock jumps: still no tick has
// two jobs.
func laneSchedules() lane {
	return lane{number: 14, name: "schedules", engines: []string{onSQLite, onPostgres}, run: func(ctx context.Context, t *trial) error {
		return onQueue(ctx, t, func(f *fleet) error {
			workers := 12
			if t.engine == onPostgres {
				workers = 4
			}
			faults := max(6, t.scaled(150))
			if t.long {
				faults = 3000
			}
			d := &deploy{fleet: f, stopped: map[string]time.Time{}}
			if err := d.run(ctx, workers, faults); err != nil {
				return err
			}
			if err := f.jump(ctx); err != nil {
				return fmt.Errorf("set a clock: %w", err)
			}
			_, list, err := f.judge(ctx)
			if err != nil {
				return err
			}
			d.checkTicks(list)
			return nil
		})
	}}
}

// everySecond returns a schedule with a job for each second, whatever happens.
func everySecond(name string) jobs.Schedule {
	payload, err := json.Marshal(label{Key: name})
	if err != nil {
		panic(err) // a struct of strings
	}
	return jobs.NewSchedule(name, "@every 1s", kind, payload, jobs.CatchUpAll(999), attempts)
}

// names returns names of the word and the numbers from from up to and without to.
func names(word string, from, to int) (list []string) {
	for i := from; i < to; i++ {
		list = append(list, fmt.Sprint(word, " ", i))
	}
	return list
}

// deploy is one run of the lane.
type deploy struct {
	*fleet
	workers []*process
	stopped map[string]time.Time // when a schedule was paused, or its last worker ended
}

// The schedules of the lane: each version of the workers declares some. Together there are 20 at any time.
func running() []string      { return names("running", 0, 10) }
func oldVersion() []string   { return names("code", 0, 10) }
func youngVersion() []string { return append(names("code", 0, 5), names("young", 0, 5)...) }

func (d *deploy) run(ctx context.Context, workers, faults int) error {
	for _, name := range running() {
		if err := d.client.PutSchedule(ctx, everySecond(name)); err != nil {
			return err
		}
	}
	for range workers {
		if err := d.add(oldVersion()); err != nil {
			return err
		}
	}
	if err := d.killSome(ctx, faults/2, oldVersion); err != nil {
		return err
	}
	// Each worker is stopped and replaced by one of the new version, while some are killed.
	for range workers {
		old := d.workers[0]
		d.workers = d.workers[1:]
		if err := d.add(youngVersion()); err != nil {
			return err
		}
		if err := old.release(); err != nil {
			return err
		}
	}
	for _, name := range names("code", 5, 10) {
		d.stopped[name] = time.Now()
	}
	if err := d.killSome(ctx, faults-faults/2, youngVersion); err != nil {
		return err
	}
	d.trial.count(0, faults+workers)
	return d.end(ctx)
}

// end pauses all schedules, and ends the workers when all jobs are done.
func (d *deploy) end(ctx context.Context) error {
	for _, name := range slices.Concat(running(), oldVersion(), names("young", 0, 5)) {
		if _, err := d.client.PauseSchedule(ctx, name); err != nil {
			return err
		}
		if d.stopped[name].IsZero() {
			d.stopped[name] = time.Now()
		}
	}
	return d.endAll(ctx, nil, d.workers)
}

// add starts a worker that declares schedules.
func (d *deploy) add(schedules []string) error {
	p, err := d.start(role{
		Do: "work", Name: fmt.Sprint("worker ", len(d.all)), Lease: killLease, Grace: time.Second, Slots: killSlots, Longest: 50 * time.Millisecond,
		Schedules: schedules,
	})
	if err == nil {
		d.workers = append(d.workers, p)
	}
	return err
}

// killSome kills workers at any moment, and puts others in their place.
func (d *deploy) killSome(ctx context.Context, n int, version func() []string) error {
	random := d.trial.random
	for range n {
		time.Sleep(time.Duration(random.IntN(int(200 * time.Millisecond)))) // the time of the fault
		i := random.IntN(len(d.workers))
		victim := d.workers[i]
		if err := until(ctx, victim.Name+" has started", func() (bool, error) { return victim.stderr.count("worker started") > 0, nil }); err != nil {
			return err
		}
		d.workers = slices.Delete(d.workers, i, i+1)
		if err := errors.Join(d.kill(victim), d.add(version())); err != nil {
			return err
		}
		delete(d.ends, victim.Name) // how soon its jobs are picked up is the matter of another lane
	}
	return d.caughtUp(ctx, version())
}

// caughtUp waits until the next tick of the schedules is to come.
func (d *deploy) caughtUp(ctx context.Context, declared []string) error {
	for _, name := range append(running(), declared...) {
		err := until(ctx, fmt.Sprintf("schedule %q has caught up", name), func() (bool, error) {
			info, err := d.client.GetSchedule(ctx, name)
			return !info.Last.IsZero() && info.Next.After(time.Now()), err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// checkTicks checks that the jobs of each schedule are a second apart, and that the last one is of when the schedule was stopped.
// judge has checked that no tick has two.
func (d *deploy) checkTicks(list []jobs.Job) {
	ticks := map[string][]time.Time{}
	for _, job := range list {
		if name := job.Schedule(); !d.stopped[name].IsZero() {
			ticks[name] = append(ticks[name], job.Tick())
		}
	}
	for name, stopped := range d.stopped {
		times := ticks[name]
		if len(times) == 0 {
			d.trial.find(tally{lost: []string{fmt.Sprintf("schedule %q has no job", name)}})
			continue
		}
		slices.SortFunc(times, time.Time.Compare)
		for i, at := range times[1:] {
			if apart := at.Sub(times[i]); apart > time.Second {
				d.trial.find(tally{lost: []string{fmt.Sprintf("schedule %q has no job between %s and %s", name, times[i], at)}})
			}
		}
		// Workers start within some seconds on a slow machine, and a lease may have to end first.
		if last := times[len(times)-1]; stopped.Sub(last) > 10*time.Second || last.Sub(stopped) > time.Second {
			d.trial.find(tally{other: []string{fmt.Sprintf("schedule %q stopped at %s, and its last job is that of %s", name, stopped, last)}})
		}
	}
}

// caughtUpBy is the number of ticks, of those that a jump passed over, that get jobs.
const caughtUpBy = 60

// jump sets the clock of one of two workers forward by an hour and back. On PostgreSQL, where the server's clock counts, the schedules
// go on; on SQLite they follow the clock that is ahead, and go on by the right one when it is set back.
func (f *fleet) jump(ctx context.Context) error {
	schedules := names("jump", 0, 3)
	for _, name := range schedules {
		payload, err := json.Marshal(label{Key: name})
		if err != nil {
			return err
		}
		if err := f.client.PutSchedule(ctx, jobs.NewSchedule(name, "@every 1s", kind, payload, jobs.CatchUpAll(caughtUpBy), attempts)); err != nil {
			return err
		}
	}
	steady, err := f.clockWorker("steady", false)
	if err != nil {
		return err
	}
	wrong, err := f.clockWorker("wrong", true)
	if err != nil {
		return err
	}
	has := func(after time.Time) func() (bool, error) {
		return func() (bool, error) {
			for _, name := range schedules {
				info, err := f.client.GetSchedule(ctx, name)
				if err != nil || !info.Last.After(after) {
					return false, err
				}
			}
			return true, nil
		}
	}
	if err := until(ctx, "the schedules are due", has(time.Time{})); err != nil {
		return err
	}
	began := time.Now()
	if err := wrong.set(setForward); err != nil {
		return err
	}
	ahead := began
	if f.trial.engine == onSQLite {
		ahead = began.Add(50 * time.Minute)
	}
	if err := until(ctx, "the schedules are due by the other clock", has(ahead)); err != nil {
		return err
	}
	if err := wrong.set(setBack); err != nil {
		return err
	}
	back := time.Now()
	f.trial.count(0, 2)
	time.Sleep(2 * time.Second) // in which a tick would be fired again
	for _, name := range schedules {
		if _, err := f.client.PauseSchedule(ctx, name); err != nil {
			return err
		}
	}
	// Jobs that were enqueued while the clock was ahead are not due for an hour.
	list, err := allJobs(ctx, f.client)
	if err != nil {
		return err
	}
	f.checkJump(schedules, list, began, back, ahead)
	for _, job := range list {
		if job.Status == jobs.StatusPending && time.Until(job.RunAfter) > 30*time.Minute {
			if err := f.client.Delete(ctx, job.ID); err != nil {
				return err
			}
		}
	}
	return f.endAll(ctx, nil, []*process{steady, wrong})
}

// checkJump checks that the jobs of each schedule are a second apart, except at ticks that the jump of a clock passed over: those while
// it was ahead, and those of the hour that were not caught up with. It reads the jobs of the hour, since they are deleted before judge
// reads.
func (f *fleet) checkJump(schedules []string, list []jobs.Job, set, back, ahead time.Time) {
	for _, name := range schedules {
		var ticks []time.Time
		for _, job := range list {
			if job.Schedule() == name {
				ticks = append(ticks, job.Tick())
			}
		}
		slices.SortFunc(ticks, time.Time.Compare)
		var passed int
		for i := 1; i < len(ticks); i++ {
			from, to := ticks[i-1], ticks[i]
			if to.Equal(from) {
				f.trial.find(tally{doubled: []string{fmt.Sprintf("schedule %q has two jobs of the tick %s", name, to)}})
			}
			if to.Sub(from) <= time.Second {
				continue
			}
			if !ahead.Equal(set) && !from.Before(set.Add(-2*time.Second)) && !to.After(back.Add(10*time.Second)) {
				continue // the clock was ahead, until the worker noticed that it was set back
			}
			passed++
			over := time.Hour - (caughtUpBy+1)*time.Second
			if ahead.Equal(set) || passed > 1 || from.Before(set.Add(-2*time.Second)) || to.Sub(from) > over+10*time.Second {
				f.trial.find(tally{lost: []string{fmt.Sprintf("schedule %q has no job between %s and %s; a clock was set at %s", name, from, to, set)}})
			}
		}
		if passed == 0 && !ahead.Equal(set) {
			f.trial.find(tally{other: []string{fmt.Sprintf("schedule %q was not passed over by a clock that was set at %s", name, set)}})
		}
	}
}
