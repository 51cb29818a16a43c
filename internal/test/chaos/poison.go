//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// lanePoison runs handlers that exit their process, exhaust its memory or panic in another goroutine. Such a job has
// failed after three crashes, and its neighbours get done. Other handlers panic, call Goexit, ignore the end of their
// context, or are programs that die, take all memory or write a gigabyte: other jobs of the same process lose no
// attempt.
func lanePoison() lane {
	return lane{number: 9, name: "poison", engines: []string{onSQLite, onPostgres}, run: func(ctx context.Context, t *trial) error {
		return onQueue(ctx, t, func(f *fleet) error {
			rounds := 1
			if t.long {
				rounds = 100
			}
			for range rounds {
				if err := f.imprison(ctx); err != nil {
					return fmt.Errorf("prison: %w", err)
				}
				if err := f.misfits(ctx); err != nil {
					return fmt.Errorf("misfits: %w", err)
				}
				if err := f.programs(ctx); err != nil {
					return fmt.Errorf("programs: %w", err)
				}
			}
			_, list, err := f.judge(ctx)
			for _, job := range list {
				f.uncharged(job)
			}
			return err
		})
	}}
}

// maxCrashes is the default of [jobs.Config.MaxCrashes].
const maxCrashes = 3

// imprison runs workers with a job that kills its process, and other jobs beside it, and starts each worker again. It
// runs one such job after the other, because several at once may be each other's victims.
func (f *fleet) imprison(ctx context.Context) error {
	begin := func() (*process, error) {
		return f.start(role{
			Do: doPrison, Name: fmt.Sprint("prison ", len(f.all)), Lease: 30 * time.Second, Grace: time.Second, Slots: 4, Longest: time.Second,
		})
	}
	var workers []*process
	for range 2 {
		p, err := begin()
		if err != nil {
			return err
		}
		workers = append(workers, p)
	}
	for range f.trial.scaled(2) {
		for _, name := range []string{killExit, killMemory, killGoroutine} {
			poison, others, err := f.poisoned(ctx, name)
			if err != nil {
				return err
			}
			err = until(ctx, "all jobs in prison have ended", func() (bool, error) {
				for i, p := range workers {
					select {
					case <-p.ended:
					default:
						continue
					}
					if err := died(p); err != nil {
						return false, err
					}
					var err error
					if workers[i], err = begin(); err != nil {
						return false, err
					}
				}
				return f.allEnded(ctx, append([]int64{poison}, others...))
			})
			if err != nil {
				return err
			}
			if err := errors.Join(f.crashed(ctx, poison), f.survived(ctx, others)); err != nil {
				return err
			}
		}
	}
	for _, p := range workers {
		if err := p.release(); err != nil {
			return err
		}
	}
	return nil
}

// poisoned adds a job that kills its process, and others before and after it.
func (f *fleet) poisoned(ctx context.Context, name string) (poison int64, others []int64, err error) {
	const many = 12
	place := f.trial.random.IntN(many)
	for i := range many {
		if i == place {
			if poison, err = f.add(ctx, prison, name); err != nil {
				return 0, nil, err
			}
		}
		id, err := f.add(ctx, prison, beside)
		if err != nil {
			return 0, nil, err
		}
		others = append(others, id)
	}
	return poison, others, nil
}

// died checks that poison ended the process, and no other fault.
func died(p *process) error {
	for _, sign := range []string{"poison in a goroutine", "out of memory", "cannot allocate memory"} {
		if p.stderr.holds(sign) {
			return nil
		}
	}
	var exit *exec.ExitError
	if errors.As(p.err, &exit) && exit.ExitCode() == exitOfPoison {
		return nil
	}
	return fmt.Errorf("%s ended: %w\n%s", p.Name, p.err, p.stderr.last())
}

// holds reports whether a text is in the output.
func (b *buffer) holds(text string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return bytes.Contains(b.data.Bytes(), []byte(text))
}

// crashed checks that a job has failed after the maximum of crashes, and that each crash is recorded. The first one does not count as an attempt
// when the job was claimed ahead of a free slot.
func (f *fleet) crashed(ctx context.Context, id int64) error {
	return f.each(ctx, []int64{id}, func(job jobs.Job, errs []inspect.AttemptEnd) {
		counted, charged := job.Counted(), maxCrashes
		if slices.ContainsFunc(errs, func(e inspect.AttemptEnd) bool { return strings.Contains(e.Message, "may not have started") }) {
			charged--
		}
		if job.Status != jobs.StatusFailed || job.Crashes != maxCrashes || counted != charged || causes(errs, jobs.CauseCrash) != maxCrashes {
			f.wrong("job %d, which kills its process, is %s after %d attempts and %d crashes, with the errors %v", job.ID, job.Status, counted, job.Crashes, errs)
		}
		f.trial.count(1, causes(errs, jobs.CauseCrash))
	})
}

// survived checks that the jobs that ran beside those are done.
func (f *fleet) survived(ctx context.Context, ids []int64) error {
	return f.each(ctx, ids, func(job jobs.Job, errs []inspect.AttemptEnd) {
		if job.Status != jobs.StatusDone {
			f.trial.find(tally{lost: []string{fmt.Sprintf("job %d, which did nothing wrong, is %s after %d crashes: %s", job.ID, job.Status, job.Crashes, job.LastError)}})
		}
		if causes(errs, jobs.CauseCrash) != len(errs) {
			f.wrong("job %d, which did nothing wrong, has the errors %v", job.ID, errs)
		}
		f.trial.count(1, 0)
	})
}

// misfitsOfAKind is the number of misfits of each kind.
const misfitsOfAKind = 5

// misfits runs a worker with handlers that end badly or never, and others beside them.
func (f *fleet) misfits(ctx context.Context) error {
	worker, err := f.start(role{
		Do: doMisfits, Name: fmt.Sprint("misfits ", len(f.all)), Lease: 30 * time.Second, Grace: time.Second, Slots: 10, Longest: 50 * time.Millisecond,
	})
	if err != nil {
		return err
	}
	enqueuer, err := f.start(role{Do: "enqueue", Name: fmt.Sprint("enqueuer ", len(f.all))})
	if err != nil {
		return err
	}
	bad := map[string]jobs.Cause{badGoexit: jobs.CausePanic, badPanic: jobs.CausePanic, badDeaf: jobs.CauseTimeout}
	ids := map[string][]int64{}
	var all []int64
	for name := range bad {
		for range misfitsOfAKind {
			// Two attempts of each deaf one leave slots for the others.
			id, err := f.add(ctx, misfits, name, jobs.MaxAttempts(2))
			if err != nil {
				return err
			}
			ids[name], all = append(ids[name], id), append(all, id)
		}
		if _, err := fmt.Fprintln(enqueuer.stdin, f.trial.scaled(500)); err != nil {
			return err
		}
	}
	if err := enqueuer.release(); err != nil {
		return err
	}
	err = until(ctx, "the misfits have ended", func() (bool, error) { return f.allEnded(ctx, all) })
	if err != nil {
		return fmt.Errorf("%w\n%s", err, worker.stderr.last())
	}
	if err := f.drained(ctx); err != nil {
		return err
	}
	if err := worker.release(); err != nil {
		return err
	}
	for name, cause := range bad {
		err := f.each(ctx, ids[name], func(job jobs.Job, errs []inspect.AttemptEnd) {
			if job.Status != jobs.StatusFailed || job.Crashes != 0 || len(errs) != 2 || causes(errs, cause) != 2 {
				f.wrong("job %d of kind %s is %s after %d crashes, with the errors %v", job.ID, name, job.Status, job.Crashes, errs)
			}
			f.trial.count(1, causes(errs, cause))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// uncharged checks that a job ran once.
func (f *fleet) uncharged(job jobs.Job) {
	if job.Attempt-job.Uncounted != 1 || job.Crashes > 0 {
		f.wrong("job %d was charged %d attempts and %d crashes", job.ID, job.Attempt-job.Uncounted, job.Crashes)
	}
}

// add adds a job that has no history.
func (f *fleet) add(ctx context.Context, queue, name string, options ...jobs.EnqueueOption) (int64, error) {
	payload, err := json.Marshal(label{Key: fmt.Sprint(name, " of ", queue)})
	if err != nil {
		return 0, err
	}
	receipt, err := f.client.Enqueue(ctx, name, payload, append(options, jobs.Queue(queue))...)
	return receipt.ID, err
}

func (f *fleet) wrong(format string, args ...any) {
	f.trial.find(tally{other: []string{fmt.Sprintf(format, args...)}})
}

// allEnded reports whether jobs have ended.
func (f *fleet) allEnded(ctx context.Context, ids []int64) (bool, error) {
	for _, id := range ids {
		job, err := f.client.Get(ctx, id)
		if err != nil {
			return false, err
		}
		switch job.Status {
		case jobs.StatusPending, jobs.StatusRunning, jobs.StatusScheduled:
			return false, nil
		}
	}
	return true, nil
}

// each checks jobs and the records of their failed attempts.
func (f *fleet) each(ctx context.Context, ids []int64, check func(jobs.Job, []inspect.AttemptEnd)) error {
	for _, id := range ids {
		job, err := f.client.Get(ctx, id)
		if err != nil {
			return err
		}
		errs, err := inspect.New(f.client).Errors(ctx, id)
		if err != nil {
			return err
		}
		check(job, errs)
	}
	return nil
}

func causes(errs []inspect.AttemptEnd, cause jobs.Cause) int {
	n := 0
	for _, e := range errs {
		if e.Cause == cause {
			n++
		}
	}
	return n
}
