package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/internal/queue/outage"
)

// workerLocks holds and tests the advisory session locks that show which workers live.
type workerLocks struct {
	conns    *connections
	now      func() time.Time
	missed   atomic.Pointer[time.Time] // when this process last lacked its own worker's lock
	goodbyes sync.Map                  // *goodbye by the key of a lock that this process holds
}

// HoldWorkerLock takes an advisory lock on its own connection. The server releases it when that connection ends, for
// any reason; if the process still lives, another connection takes it again. Behind a pooler, which would own the lock,
// there is none, and only the lease shows that the worker lives.
func (s *workerLocks) HoldWorkerLock(ctx context.Context) (key string, release func(ended bool) error, err error) {
	if err := s.conns.look(ctx); err != nil {
		return "", nil, err
	}
	if s.conns.pooled.Load() {
		return "", func(bool) error { return nil }, nil
	}
	number := rand.Int64()
	key = strconv.FormatInt(number, 10)
	last := &goodbye{}
	s.goodbyes.Store(key, last)
	holding, stop := context.WithCancel(context.WithoutCancel(ctx))
	first := make(chan error, 1)
	var once sync.Once
	tell := func(err error) { once.Do(func() { first <- err }) }
	var running sync.WaitGroup
	running.Go(func() {
		sessions{s.conns}.hold(holding, held{
			setup: func(ctx context.Context, conn *pgx.Conn) error {
				err := inTime(ctx, func(ctx context.Context) error {
					_, err := conn.Exec(ctx, control("lock"), pgx.QueryExecModeExec, number)
					return err
				})
				if err == nil {
					last.use(conn.PgConn().Conn())
					tell(nil)
				}
				return err
			},
			dial:   last.dial,
			notice: func(*pgconn.Notification) {},
			failed: func(err error) {
				last.use(nil)
				s.missed.Store(new(time.Now()))
				tell(err)
			},
			first: true,
			lost:  "the connection that shows that the worker lives was lost: making another",
			back:  "there is a connection again that shows that the worker lives",
		})
	})
	release = func(bool) error {
		stop()
		running.Wait()
		s.goodbyes.Delete(key)
		return nil
	}
	select {
	case err = <-first:
	case <-ctx.Done():
		err = core.EndOf(ctx)
	}
	if err != nil {
		return "", nil, errors.Join(fmt.Errorf("take the worker's lock: %w", s.conns.countNeeded(translate(err))), release(true))
	}
	return key, release, nil
}

// FreeWorkerLocks tries all locks in one statement, and tries the free ones again a little later. A server that has just
// started has no locks yet: see settling. A process that has just lost its own lock judges no other worker: the cause, such
// as a restarted proxy in front of the server, broke the others' connections too.
func (s *workerLocks) FreeWorkerLocks(ctx context.Context, keys []string) ([]string, error) {
	if missed := s.missed.Load(); missed != nil && time.Since(*missed) < s.conns.options.settling {
		return nil, nil
	}
	free, err := s.freeLocks(ctx, keys)
	if err != nil || len(free) == 0 {
		return nil, err
	}
	if !outage.Sleep(ctx, s.confirmAfter()) {
		return nil, core.EndOf(ctx)
	}
	return s.freeLocks(ctx, free)
}

// confirmAfter returns a time long enough for another worker to reconnect, if that takes it about as long as this
// process: the network or the server may be slow.
func (s *workerLocks) confirmAfter() time.Duration {
	return max(s.conns.options.confirm, min(reconnectFirst+3*time.Duration(s.conns.connecting.Load()), settling))
}

func (s *workerLocks) freeLocks(ctx context.Context, keys []string) ([]string, error) {
	var numbers []string
	for _, key := range keys {
		if _, err := strconv.ParseInt(key, 10, 64); err == nil { // else the lock is another engine's, of a moved queue
			numbers = append(numbers, key)
		}
	}
	list, err := json.Marshal(numbers)
	if err != nil || len(numbers) == 0 {
		return nil, err
	}
	var free []string
	err = s.conns.ask(ctx, func(ctx context.Context, conn *lentConn) error {
		rows, err := conn.Query(ctx, s.conns.names.qualify(control("free_locks")), once(string(list), settling.Microseconds())...)
		if err == nil {
			free, err = pgx.CollectRows(rows, pgx.RowTo[string])
		}
		return err
	})
	return free, err
}

// TakeWorkerLock takes another worker's lock for the length of a transaction, which works behind a pooler as well. It
// does not use the pool: the caller needs a pool connection meanwhile, and other callers may wait for one.
func (s *workerLocks) TakeWorkerLock(ctx context.Context, key string) (state engine.LockState, done func(), err error) {
	number, err := strconv.ParseInt(key, 10, 64)
	if err != nil {
		return engine.LockMissing, nil, nil
	}
	conn, err := sessions{s.conns}.connect(ctx)
	if err != nil {
		return engine.LockHeld, nil, translate(err)
	}
	done = func() {
		// The transaction has written nothing: if its end fails, only the connection is lost, and the lock with it.
		ctx, cancel := core.Linger(ctx)
		defer cancel()
		ctx, stop := context.WithTimeout(ctx, answerWithin)
		defer stop()
		_, _ = conn.Exec(ctx, control("rollback"), pgx.QueryExecModeExec)
		_ = conn.Close(ctx)
	}
	w := s.conns.watches.watch(ctx)
	taken := false
	if _, err = conn.Exec(w.ctx, control("begin"), pgx.QueryExecModeExec); err == nil {
		err = conn.QueryRow(w.ctx, control("try_lock"), once(number)...).Scan(&taken)
	}
	if err == nil && taken { // the caller keeps the transaction open as long as it needs
		_, err = conn.Exec(w.ctx, control("no_timeouts"), once()...)
	}
	if err = translate(w.end(err)); err != nil || !taken {
		done()
		return engine.LockHeld, nil, err
	}
	return engine.LockTaken, done, nil
}

// goodbye sends a worker's last statements on the connection that holds its lock, and does not wait for an answer: the server
// may be stopped, or a row locked. The server runs them when it can, even after the connection was closed, and then frees the
// lock.
type goodbye struct {
	mu   sync.Mutex
	conn net.Conn // nil while there is none
	said bool
}

var (
	errNoConnection = errors.New("the connection that holds the worker's lock is lost")
	errSaid         = errors.New("the connection's last statements must not be cancelled")
)

// use records the connection that holds the lock, or nil.
func (f *goodbye) use(conn net.Conn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.conn = conn
}

// dial wraps next so that it makes no connection after a goodbye was sent. pgx makes one to cancel the running statement of
// a connection that it abandons.
func (f *goodbye) dial(next pgconn.DialFunc) pgconn.DialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		f.mu.Lock()
		said := f.said
		f.mu.Unlock()
		if said {
			return nil, errSaid
		}
		return next(ctx, network, address)
	}
}

// send sends as one transaction everything that statements writes.
func (f *goodbye) send(statements func(*sender) error) error {
	var s sender
	err := statements(&s)
	if err == nil {
		err = s.add(&pgproto3.Sync{})
	}
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.conn == nil {
		return errNoConnection
	}
	f.said = true
	if err := f.conn.SetWriteDeadline(time.Now().Add(lastWord)); err != nil {
		return err
	}
	_, err = f.conn.Write(s.messages)
	return err
}

// LeaveGoodbye sends the server the release of the worker's jobs and its end. It does nothing for a worker without a
// lock.
func (s *workerLocks) LeaveGoodbye(key string, worker int64) error {
	f, ok := s.goodbyes.Load(key)
	if !ok {
		return nil
	}
	now := core.Micros(s.now())
	return f.(*goodbye).send(func(out *sender) error {
		q := s.conns.querier(out, false)
		_, err := lifecycle.ReleaseHeld(context.Background(), q, now, worker)
		if err == nil {
			_, err = q.EndWorker(context.Background(), db.EndWorkerParams{Now: now, EndReason: core.EndStopped, ID: worker})
		}
		return err
	})
}

// SaidGoodbye implements [engine.Store]: the server has executed a goodbye before the lock can be taken.
func (s *workerLocks) SaidGoodbye(string) (bool, error) { return false, nil }

// sender stores statements without rows as protocol messages. Their results are ignored.
type sender struct{ messages []byte }

func (s *sender) add(message pgproto3.FrontendMessage) (err error) {
	s.messages, err = message.Encode(s.messages)
	return err
}

func (s *sender) Exec(_ context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	var values [][]byte
	for _, arg := range plain(args) {
		values = append(values, fmt.Append(nil, arg))
	}
	return pgconn.CommandTag{}, errors.Join(
		s.add(&pgproto3.Parse{Query: sql}), s.add(&pgproto3.Bind{Parameters: values}), s.add(&pgproto3.Execute{}),
	)
}

func (s *sender) Query(context.Context, string, ...any) (pgx.Rows, error) {
	return nil, errors.ErrUnsupported
}

func (s *sender) QueryRow(context.Context, string, ...any) pgx.Row {
	return failedRow{errors.ErrUnsupported}
}
