package jobs

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
)

// worker is the session's row in the workers table and the lock that says that it lives.
type worker struct {
	id      int64 // 0 while not registered
	release func(ended bool) error
}

// register takes a new lock, then inserts the worker's row: a process that reads the row finds the lock held, or knows that the
// worker is dead.
func (s *session) register(ctx context.Context) error {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	if s.config.Name == "" {
		s.config.Name = fmt.Sprintf("%s-%d-%s", core.Clean(host, 100), os.Getpid(), strings.ToLower(rand.Text()[:6]))
	}
	queues, err := json.Marshal(s.config.Queues)
	if err != nil {
		return err
	}
	key, release, err := s.store.HoldWorkerLock(ctx)
	if err != nil {
		return fmt.Errorf("register worker: %w", err)
	}
	id, err := s.addWorker(ctx, db.RegisterWorkerParams{
		Name: s.config.Name, LockKey: key, Host: host, Pid: int64(os.Getpid()), Version: s.config.Version,
		Queues: string(queues), Kinds: s.kinds,
	})
	if err != nil {
		return errors.Join(fmt.Errorf("register worker %s: %w", core.Quote(s.config.Name), err), release(true))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.worker = worker{id: id, release: release}
	return nil
}

// How often, and how far apart, a name is tried that a live worker seems to have: a server notices the death of a
// process later than its supervisor, which starts it again, and after its own start it gives workers time to come back.
const (
	nameTries = 25
	namePause = 200 * time.Millisecond
)

// addWorker adds the row; a worker of the same name that is gone makes room first.
func (s *session) addWorker(ctx context.Context, params db.RegisterWorkerParams) (int64, error) {
	for try := range nameTries {
		if try == 2 {
			s.log.Warn("another worker has this name: waiting in case that it has just ended", "worker", s.config.Name)
		}
		if try > 1 && !s.pause(ctx, namePause) {
			break
		}
		var id int64
		err := s.store.Write(ctx, func(ctx context.Context, q db.Querier) error {
			now := s.store.Now()
			params.Now, params.LeaseUntil = core.Micros(now), core.Micros(now.Add(s.config.Lease))
			var err error
			id, err = q.RegisterWorker(ctx, params)
			return err
		})
		if !errors.Is(err, sql.ErrNoRows) {
			return id, err
		}
		if err := s.store.Read(ctx, lifecycle.CheckOpen); err != nil {
			return 0, err
		}
		if err := s.rescueWorkers(ctx, s.config.OnBoot == OnBootFailed, 0); err != nil {
			return 0, err
		}
	}
	return 0, ErrWorkerName
}

// unregister ends the worker's row and releases its lock, in this order.
func (s *session) unregister(ctx context.Context) error {
	s.mu.Lock()
	w := s.worker
	s.worker = worker{}
	s.mu.Unlock()
	if w.release == nil {
		return nil
	}
	err := s.store.Write(ctx, func(ctx context.Context, q db.Querier) error {
		_, err := q.EndWorker(ctx, db.EndWorkerParams{Now: core.Micros(s.store.Now()), EndReason: "stopped", ID: w.id})
		return err
	})
	if err != nil {
		err = fmt.Errorf("unregister worker: %w", err)
	}
	return errors.Join(err, w.release(err == nil))
}

func (s *session) workerID() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.worker.id
}
