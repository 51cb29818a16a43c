//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/test/history"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

// laneVersions replaces the processes of a service by those of its next release, one after the other, while both enqueue and work. The next
// release has another version of the payloads, another schedule, and in half of the rounds a new key and another name of the kind. The old
// one is, unless it comes back or does not run on the new schema, a build from before the last migration, which comes meanwhile. Processes are killed, an old one is restarted among new ones, and
// half of the rounds go back to the old release and forward again. Each job is run by a process that knows its kind, version and key;
// only crashes are charged; the schedule is that of the newest release that lives, and loses or doubles no tick.
func laneVersions() lane {
	return lane{number: 16, name: "versions", engines: []string{onSQLite, onPostgres}, run: func(ctx context.Context, t *trial) error {
		before, err := buildChaosBefore(ctx, t.dir)
		switch {
		case errors.Is(err, errNoHistory):
			t.say("old processes are of this build: %v", err)
		case err != nil:
			return err
		}
		rounds := t.scaled(20)
		if t.long {
			rounds = 100
		}
		return onQueues(ctx, t, rounds, func(round int, f *fleet) error {
			r := newRollout(f, round, before)
			if err := r.run(ctx); err != nil {
				return fmt.Errorf("round %d, %s: %w", round, r, err)
			}
			return nil
		})
	}}
}

// onQueues runs fn n times, each time with a separate empty queue.
func onQueues(ctx context.Context, t *trial, n int, fn func(round int, f *fleet) error) error {
	one := func(round int, address string, open func() (jobs.Store, error)) error {
		store, err := open()
		if err != nil {
			return err
		}
		return withFleet(ctx, t, address, store, func(f *fleet) error {
			f.name = fmt.Sprintf("%d-", round)
			return fn(round, f)
		})
	}
	if t.engine == onPostgres {
		return onServer(ctx, func(b *bench, server *testdb.Cluster) error {
			for round := range n {
				address := server.Database(b)
				if err := one(round, address, func() (jobs.Store, error) { return openStore(ctx, address, nil) }); err != nil {
					return err
				}
			}
			return nil
		})
	}
	for round := range n {
		path := filepath.Join(t.dir, fmt.Sprintf("jobs-%d.db", round))
		if err := one(round, path, func() (jobs.Store, error) { return sqlite.Open(ctx, path) }); err != nil {
			return err
		}
		t.checkSound(ctx, path)
	}
	return nil
}

// steadySchedule is one that no release declares.
const steadySchedule = "steady"

// rollout is one round of the lane.
type rollout struct {
	*fleet
	before     earlier // the program of the old release; without a program it is this one
	old, young role    // of the processes
	abort      bool    // it goes back to the old release, and forward again
	live       []*process
}

// declarationsSchema is the version from which on a live worker puts its declarations in force.
const declarationsSchema = 18

// ofRelease is the number of processes of each release, while all of them live.
const ofRelease = 3

// newRollout returns a round. Of eight rounds in a row each goes back, renames the kind and has a new key in another combination, and the
// first does none of them: its faults concern versions alone.
func newRollout(f *fleet, round int, before earlier) *rollout {
	random := f.trial.random
	service := role{Do: doService, Lease: killLease, Grace: time.Second, Slots: 4, Longest: 30 * time.Millisecond}
	r := &rollout{fleet: f, before: before, old: service, young: service, abort: round%2 == 1}
	if r.abort && before.schema < declarationsSchema {
		r.before = earlier{} // a program of before puts its schedule when it starts, and not when it is left alone
	}
	r.old.Release = release{Kind: kind, Version: random.IntN(2), Every: time.Second}
	r.young.Release = release{Kind: kind, Version: r.old.Release.Version + 1, Every: 2 * time.Second}
	if (round^round>>1)&1 == 1 {
		r.young.Release.Kind, r.young.Release.Aliases = newKind, []string{kind}
	}
	r.old.Keys, r.young.Keys = []string{"key-0"}, []string{"key-0"}
	if (round^round>>2)&1 == 1 {
		r.young.Keys = []string{"key-1", "key-0"} // the old program cannot decrypt jobs of the new one
	}
	return r
}

// String names the changes of the round.
func (r *rollout) String() string {
	return fmt.Sprintf("version %d to %d of kind %s, aborted: %t", r.old.Release.Version, r.young.Release.Version, r.young.Release.Kind, r.abort)
}

func (r *rollout) run(ctx context.Context) error {
	all, err := cipherOf(r.young.Keys)
	if err != nil {
		return err
	}
	r.client = jobs.New(r.client.Store(), jobs.WithCipher(all)).Revealed()
	if err := r.chooseOld(ctx); err != nil {
		return err
	}
	if err := r.migrateBack(ctx); err != nil {
		return err
	}
	if err := r.startAll(ctx, r.old); err != nil {
		return err
	}
	if _, err := r.client.Migrate(ctx); err != nil {
		return fmt.Errorf("migrate below a release: %w", err)
	}
	if err := r.client.PutSchedule(ctx, everySecond(steadySchedule)); err != nil {
		return err
	}
	if err := r.roll(ctx); err != nil {
		return err
	}
	return r.finish(ctx)
}

// chooseOld makes this program the old one where that of before does not run on this schema: it would end at the migration, as lane 10 checks.
func (r *rollout) chooseOld(ctx context.Context) error {
	if r.before.program == "" {
		return nil
	}
	found, err := engine.StoreOf(r.client.Store()).Migrations().Schema(ctx)
	if err == nil && (found.RunsFrom == 0 || found.RunsFrom > r.before.schema) {
		r.before = earlier{}
	}
	return err
}

// migrateBack takes the schema back to that of the old program.
func (r *rollout) migrateBack(ctx context.Context) error {
	if r.before.program == "" {
		return nil
	}
	for {
		found, err := engine.StoreOf(r.client.Store()).Migrations().Schema(ctx)
		if err != nil || found.Applied <= r.before.schema {
			return err
		}
		if _, err := engine.StoreOf(r.client.Store()).Migrations().MigrateDown(ctx); err != nil {
			return err
		}
	}
}

// roll replaces the processes of the old release, and lets the schedule follow.
func (r *rollout) roll(ctx context.Context) error {
	for range ofRelease {
		if err := r.startOne(ctx, r.young); err != nil {
			return err
		}
		if err := r.disturb(ctx); err != nil {
			return err
		}
	}
	if r.abort {
		if err := r.stopAll(r.young); err != nil {
			return err
		}
		if err := r.declares(ctx, r.old); err != nil {
			return err
		}
		if err := r.startAll(ctx, r.young); err != nil {
			return err
		}
	}
	for range 2 { // the old ones go; the last one is restarted before it does
		if err := r.release(r.of(r.old)[0]); err != nil {
			return err
		}
	}
	if err := r.restart(ctx, r.of(r.old)[0]); err != nil {
		return err
	}
	if err := r.disturb(ctx); err != nil {
		return err
	}
	if err := r.stopAll(r.old); err != nil {
		return err
	}
	return r.declares(ctx, r.young)
}

// finish lets the jobs that are left be done, and checks everything.
func (r *rollout) finish(ctx context.Context) error {
	if err := r.tick(ctx); err != nil {
		return err
	}
	for _, p := range r.live {
		if _, err := fmt.Fprintln(p.stdin, quietLine); err != nil {
			return err
		}
	}
	stopped := time.Now()
	for _, name := range []string{steadySchedule, sharedSchedule} {
		if _, err := r.client.PauseSchedule(ctx, name); err != nil {
			return err
		}
	}
	if err := r.endAll(ctx, nil, r.live); err != nil {
		return err
	}
	events, list, err := r.judge(ctx)
	if err != nil {
		return err
	}
	r.checkFit(events, list)
	if err := r.checkCharged(ctx, list); err != nil {
		return err
	}
	return r.checkTicks(ctx, stopped)
}

// tick waits until both schedules have fired: on a fast machine a round takes less than two ticks of the shared one, which begin anew with
// each release.
func (r *rollout) tick(ctx context.Context) error {
	for _, name := range []string{steadySchedule, sharedSchedule} {
		err := until(ctx, "schedule "+name+" has a tick", func() (bool, error) {
			info, err := r.client.GetSchedule(ctx, name)
			return !info.Last.IsZero(), err
		})
		if err != nil && !errors.Is(err, errGivenUp) { // checkTicks finds the one that has none
			return err
		}
	}
	return nil
}

// of returns the live processes of a release.
func (r *rollout) of(of role) []*process {
	return slices.DeleteFunc(slices.Clone(r.live), func(p *process) bool { return p.Release.Version != of.Release.Version })
}

// startAll starts the processes of a release.
func (r *rollout) startAll(ctx context.Context, of role) error {
	for range ofRelease {
		if err := r.startOne(ctx, of); err != nil {
			return err
		}
	}
	return nil
}

// startOne starts a process of a release and waits until it works.
func (r *rollout) startOne(ctx context.Context, of role) error {
	program := ""
	of.Name = fmt.Sprint("new ", len(r.all))
	if of.Release.Version == r.old.Release.Version {
		program, of.Name = r.before.program, fmt.Sprint("old ", len(r.all))
	}
	p, err := r.startProgram(program, of)
	if err != nil {
		return err
	}
	r.live = append(r.live, p)
	return until(ctx, p.Name+" works", func() (bool, error) {
		if p.hasEnded() {
			return false, fmt.Errorf("%s ended: %w\n%s", p.Name, p.err, p.stderr.last())
		}
		return p.stderr.count("worker started") > 0, nil
	})
}

// disturb kills a process after a while in half of the cases, and starts another one of its release, as a supervisor does.
func (r *rollout) disturb(ctx context.Context) error {
	time.Sleep(time.Duration(r.trial.random.IntN(int(300 * time.Millisecond)))) // the time of the fault
	if r.trial.random.IntN(2) == 0 {
		return nil
	}
	return r.restart(ctx, r.live[r.trial.random.IntN(len(r.live))])
}

// restart kills a process and starts another one of its release.
func (r *rollout) restart(ctx context.Context, p *process) error {
	if err := r.remove(p, r.kill); err != nil {
		return err
	}
	of := r.young
	if p.Release.Version == r.old.Release.Version {
		of = r.old
	}
	return r.startOne(ctx, of)
}

// release ends a process cleanly.
func (r *rollout) release(p *process) error { return r.remove(p, (*process).release) }

// stopAll ends all processes of a release, each by a kill or cleanly.
func (r *rollout) stopAll(of role) error {
	for _, p := range r.of(of) {
		stop := (*process).release
		if r.trial.random.IntN(2) == 0 {
			stop = r.kill
		}
		if err := r.remove(p, stop); err != nil {
			return err
		}
	}
	return nil
}

// remove ends a process.
func (r *rollout) remove(p *process, end func(*process) error) error {
	r.live = slices.DeleteFunc(r.live, func(other *process) bool { return other == p })
	r.trial.count(0, 1)
	return end(p)
}

// declares waits until the shared schedule is that of a release whose processes live.
func (r *rollout) declares(ctx context.Context, of role) error {
	err := until(ctx, "the shared schedule is that of "+of.Release.spec(), func() (bool, error) {
		info, err := r.client.GetSchedule(ctx, sharedSchedule)
		return info.Spec == of.Release.spec() && info.Kind == of.Release.Kind, err
	})
	if errors.Is(err, errGivenUp) {
		r.wrong("%v, which lives", err)
		return nil
	}
	return err
}

// knows reports whether a program of the release can run jobs of a kind with payloads of a version.
func (r release) knows(name string, version int) bool {
	for _, known := range append([]string{r.Kind}, r.Aliases...) {
		if known == name {
			return version <= r.Version
		}
	}
	return false
}

// checkFit finds jobs that were run by a process that does not know their kind, version or key.
func (r *rollout) checkFit(events []history.Event, list []jobs.Job) {
	processes := map[string]*process{}
	for _, p := range r.all {
		processes[p.Name] = p
	}
	byID := map[int64]jobs.Job{}
	for _, job := range list {
		byID[job.ID] = job
	}
	for _, e := range events {
		p, job := processes[e.Process], byID[e.Job]
		if e.What != history.Start || p == nil || job.ID == 0 {
			continue
		}
		var said struct {
			Version int `json:"sqluice_version"`
		}
		if len(job.Metadata) > 0 && json.Unmarshal(job.Metadata, &said) != nil {
			r.wrong("job %d has the metadata %s", job.ID, job.Metadata)
		}
		if !p.Release.knows(job.Kind, said.Version) {
			r.wrong("job %d of kind %s, version %d, was run by %s, of version %d of kind %s", job.ID, job.Kind, said.Version, p.Name, p.Release.Version, p.Release.Kind)
		}
	}
}

// checkCharged finds attempts that count, beside the one in which a job was done and those whose process died. Of these the first does not count
// when the job was claimed ahead of a free slot.
func (r *rollout) checkCharged(ctx context.Context, list []jobs.Job) error {
	returned := 0
	for _, job := range list {
		page, err := inspect.New(r.client).Attempts(ctx, job.ID, 0, inspect.MaxPage)
		if err != nil {
			return err
		}
		returned += len(page.Others)
		died := 0
		for _, a := range page.Failed {
			if a.Cause != jobs.CauseCrash && a.Cause != jobs.CauseLost {
				r.wrong("attempt %d of job %d by %s failed: %s, %s", a.Attempt, job.ID, a.Worker, a.Cause, a.Message)
				continue
			}
			died++
		}
		if counted := job.Counted(); counted != died+1 && (died == 0 || counted != died) {
			r.wrong("%d attempts of job %d count, and in %d its process died", counted, job.ID, died)
		}
	}
	r.trial.say("%s: %d jobs, %d attempts given back", r, len(list), returned)
	return nil
}

// checkTicks finds ticks that were lost. The steady schedule has one each second. Those of the shared one are as far apart as its release
// says, and once more where the release changed.
func (r *rollout) checkTicks(ctx context.Context, stopped time.Time) error {
	for name, most := range map[string]time.Duration{
		steadySchedule: time.Second, sharedSchedule: r.old.Release.Every + 2*r.young.Release.Every,
	} {
		ticks, err := r.client.ScheduleTicks(ctx, name, 1000)
		if err != nil {
			return err
		}
		if len(ticks) == 0 {
			r.trial.find(tally{lost: []string{fmt.Sprintf("schedule %q has no tick", name)}})
			continue
		}
		next := stopped.Add(-10 * time.Second) // workers start within some seconds on a slow machine
		if last := ticks[0].Tick; last.Before(next) {
			r.trial.find(tally{lost: []string{fmt.Sprintf("the last tick of schedule %q is %s; it was paused at %s", name, last, stopped)}})
		}
		for i, tick := range ticks[1:] {
			if apart := ticks[i].Tick.Sub(tick.Tick); apart > most {
				r.trial.find(tally{lost: []string{fmt.Sprintf("schedule %q has no tick between %s and %s", name, tick.Tick, ticks[i].Tick)}})
			}
		}
	}
	return nil
}
