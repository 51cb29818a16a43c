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
	"sync/atomic"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/declare"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/internal/queue/maintenance"
	"github.com/sqluice/sqluice/internal/queue/outage"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// presence is the run as the database knows it: the worker's row, and the lock that says that it lives. The heartbeat renews it. Other
// goroutines call only workerID.
type presence struct {
	env     *env
	rescuer *maintenance.Rescuer

	id     atomic.Int64 // the id of the row; 0 while not registered
	name   string       // the name of the worker
	lock   workerLock
	queues uint64 // the version of the queues in the row
}

// workerLock is the lock of a registered worker. The zero value holds no lock.
type workerLock struct {
	key     string
	release func(ended bool) error
}

// workerID returns the id of the worker's row; 0 while it has none.
func (p *presence) workerID() int64 { return p.id.Load() }

// register takes a new lock, then inserts the worker's row: a process that reads the row finds the lock held, or knows that the
// worker is dead.
func (p *presence) register(ctx context.Context) error {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	if p.name == "" {
		p.name = fmt.Sprintf("%s-%d-%s", core.Clean(host, 100), os.Getpid(), strings.ToLower(rand.Text()[:6]))
	}
	queues, version, err := p.env.served.column()
	if err != nil {
		return err
	}
	key, release, err := p.env.store.WorkerLocks().HoldWorkerLock(ctx)
	if err != nil {
		return fmt.Errorf("register worker: %w", err)
	}
	id, err := p.addWorker(ctx, db.RegisterWorkerParams{
		Name: p.name, LockKey: key, Host: host, Pid: int64(os.Getpid()), Version: p.env.config.Version,
		Queues: queues, Kinds: p.env.kinds, Declares: declare.IDs(p.env.declared.Declared),
	})
	if err != nil {
		return errors.Join(fmt.Errorf("register worker %s: %w", strconv.Quote(p.name), err), release(true))
	}
	p.lock, p.queues = workerLock{key, release}, version
	p.id.Store(id)
	return nil
}

// writeQueues writes the queues into the worker's row, unless the row has them. A worker that was declared dead has no row: add writes
// them into its next one.
func (p *presence) writeQueues(ctx context.Context) error {
	if p.env.served.version.Load() == p.queues {
		return nil
	}
	queues, version, err := p.env.served.column()
	if err != nil {
		return err
	}
	err = p.env.store.Write(ctx, func(ctx context.Context, q db.Querier) error {
		_, err := q.SetWorkerQueues(ctx, db.SetWorkerQueuesParams{Queues: queues, ID: p.workerID()})
		return err
	})
	if err != nil {
		return fmt.Errorf("record the queues of the worker: %w", err)
	}
	p.queues = version
	return nil
}

// The number of tries, and the pause between them, for a name that a live worker seems to have. A server notices the death of a
// process later than the supervisor that restarts it, and after its own start it gives workers time to come back.
const (
	nameTries = 25
	namePause = 200 * time.Millisecond
)

// addWorker adds the row; it first removes a gone worker of the same name.
func (p *presence) addWorker(ctx context.Context, params db.RegisterWorkerParams) (int64, error) {
	for try := range nameTries {
		if try == 2 {
			p.env.log.Warn("another worker has this name: waiting in case that it has just ended", "worker", p.name)
		}
		if try > 1 && !outage.Sleep(ctx, namePause) {
			break
		}
		var id int64
		err := p.env.store.Write(ctx, func(ctx context.Context, q db.Querier) error {
			now := p.env.store.Now()
			params.Now, params.LeaseUntil = core.Micros(now), core.Micros(now.Add(p.env.config.Lease))
			err := declare.Register(ctx, q, p.env.declared.Declared, now)
			if err == nil {
				id, err = q.RegisterWorker(ctx, params)
			}
			return err
		})
		if !errors.Is(err, sql.ErrNoRows) {
			return id, err
		}
		if err := p.env.store.Read(ctx, lifecycle.CheckOpen); err != nil {
			return 0, err
		}
		if err := p.rescuer.EndGoneWorkers(ctx, p.env.config.FailOnBoot, 0); err != nil {
			return 0, err
		}
	}
	return 0, jobtype.ErrWorkerName
}

// take removes the worker's id and lock, and returns them. ok is false when it was not registered.
func (p *presence) take() (id int64, lock workerLock, ok bool) {
	id, lock = p.id.Swap(0), p.lock
	p.lock = workerLock{}
	return id, lock, lock.release != nil
}

// sayGoodbye leaves a goodbye in place of the end of the worker's row, and releases its lock.
func (p *presence) sayGoodbye() error {
	id, lock, ok := p.take()
	if !ok {
		return nil
	}
	return p.goodbye(id, lock)
}

func (p *presence) goodbye(id int64, lock workerLock) error {
	err := p.env.store.WorkerLocks().LeaveGoodbye(lock.key, id)
	if err != nil {
		p.env.log.Warn("the worker's jobs are rescued as after a crash: it could leave no goodbye", "worker", p.name, "error", err)
	}
	return lock.release(false)
}

// unregister ends the worker's row and releases its lock, in this order. When the row cannot be changed, the worker leaves a goodbye.
func (p *presence) unregister(ctx context.Context) error {
	id, lock, ok := p.take()
	if !ok {
		return nil
	}
	err := p.env.store.Write(ctx, func(ctx context.Context, q db.Querier) error {
		_, err := q.EndWorker(ctx, db.EndWorkerParams{Now: core.Micros(p.env.store.Now()), EndReason: core.EndStopped, ID: id})
		return err
	})
	if err != nil {
		return errors.Join(fmt.Errorf("unregister worker: %w", err), p.goodbye(id, lock))
	}
	return lock.release(true)
}
