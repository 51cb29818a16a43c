package runner

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/declare"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/internal/queue/maintenance"
	"github.com/sqluice/sqluice/internal/queue/outage"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// worker is the run's row in the workers table and the lock that says that it lives.
type worker struct {
	id      int64  // 0 while not registered
	key     string // of its lock
	release func(ended bool) error
}

// registration adds and removes the run's worker.
type registration struct {
	*env
	*state
	rescuer *maintenance.Rescuer
	told    uint64 // the version of the queues that the worker's row has
}

// add takes a new lock, then inserts the worker's row: a process that reads the row finds the lock held, or knows that the
// worker is dead.
func (r *registration) add(ctx context.Context) error {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	if r.config.Name == "" {
		r.config.Name = fmt.Sprintf("%s-%d-%s", core.Clean(host, 100), os.Getpid(), strings.ToLower(rand.Text()[:6]))
	}
	queues, version, err := r.served.column()
	if err != nil {
		return err
	}
	key, release, err := r.store.HoldWorkerLock(ctx)
	if err != nil {
		return fmt.Errorf("register worker: %w", err)
	}
	id, err := r.addWorker(ctx, db.RegisterWorkerParams{
		Name: r.config.Name, LockKey: key, Host: host, Pid: int64(os.Getpid()), Version: r.config.Version,
		Queues: queues, Kinds: r.kinds, Declares: declare.IDs(r.declared.Declared),
	})
	if err != nil {
		return errors.Join(fmt.Errorf("register worker %s: %w", strconv.Quote(r.config.Name), err), release(true))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.worker = worker{id: id, key: key, release: release}
	r.told = version
	return nil
}

// tellQueues writes the queues into the worker's row, unless it has them. A worker that was declared dead has no row: add writes them
// into its next one.
func (r *registration) tellQueues(ctx context.Context) error {
	if r.served.version.Load() == r.told {
		return nil
	}
	queues, version, err := r.served.column()
	if err != nil {
		return err
	}
	err = r.store.Write(ctx, func(ctx context.Context, q db.Querier) error {
		_, err := q.SetWorkerQueues(ctx, db.SetWorkerQueuesParams{Queues: queues, ID: r.workerID()})
		return err
	})
	if err != nil {
		return fmt.Errorf("note the queues of the worker: %w", err)
	}
	r.told = version
	return nil
}

// How often, and how far apart, a name is tried that a live worker seems to have: a server notices the death of a
// process later than its supervisor, which starts it again, and after its own start it gives workers time to come back.
const (
	nameTries = 25
	namePause = 200 * time.Millisecond
)

// addWorker adds the row; a worker of the same name that is gone makes room first.
func (r *registration) addWorker(ctx context.Context, params db.RegisterWorkerParams) (int64, error) {
	for try := range nameTries {
		if try == 2 {
			r.log.Warn("another worker has this name: waiting in case that it has just ended", "worker", r.config.Name)
		}
		if try > 1 && !outage.Sleep(ctx, namePause) {
			break
		}
		var id int64
		err := r.store.Write(ctx, func(ctx context.Context, q db.Querier) error {
			now := r.store.Now()
			params.Now, params.LeaseUntil = core.Micros(now), core.Micros(now.Add(r.config.Lease))
			err := declare.Register(ctx, q, r.declared.Declared, now)
			if err == nil {
				id, err = q.RegisterWorker(ctx, params)
			}
			return err
		})
		if !errors.Is(err, sql.ErrNoRows) {
			return id, err
		}
		if err := r.store.Read(ctx, lifecycle.CheckOpen); err != nil {
			return 0, err
		}
		if err := r.rescuer.EndGoneWorkers(ctx, r.config.FailOnBoot, 0); err != nil {
			return 0, err
		}
	}
	return 0, jobtype.ErrWorkerName
}

// take returns the worker, which is not registered any more. ok is false when it was not before.
func (r *registration) take() (w worker, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	w = r.worker
	r.worker = worker{}
	return w, w.release != nil
}

// leave leaves a goodbye in place of the end of the worker's row, and releases its lock.
func (r *registration) leave() error {
	w, ok := r.take()
	if !ok {
		return nil
	}
	return r.sayGoodbye(w)
}

// sayGoodbye leaves a goodbye, and releases the lock.
func (r *registration) sayGoodbye(w worker) error {
	err := r.store.LeaveGoodbye(w.key, w.id)
	if err != nil {
		r.log.Warn("the worker's jobs are rescued as after a crash: it could leave no goodbye", "worker", r.config.Name, "error", err)
	}
	return w.release(false)
}

// remove ends the worker's row and releases its lock, in this order. When the row cannot be changed, the worker leaves a goodbye.
func (r *registration) remove(ctx context.Context) error {
	w, ok := r.take()
	if !ok {
		return nil
	}
	err := r.store.Write(ctx, func(ctx context.Context, q db.Querier) error {
		_, err := q.EndWorker(ctx, db.EndWorkerParams{Now: core.Micros(r.store.Now()), EndReason: core.EndStopped, ID: w.id})
		return err
	})
	if err != nil {
		return errors.Join(fmt.Errorf("unregister worker: %w", err), r.sayGoodbye(w))
	}
	return w.release(true)
}
