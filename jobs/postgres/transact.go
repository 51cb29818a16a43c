package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/jobs"
)

// reruns is how often a transaction is run that collides with others or whose connection breaks before its commit.
const reruns = 8

// Write runs fn in a transaction. The end of ctx ends it, as while it waits for a row that somebody has locked, but not
// its commit. When the connection breaks during that, the server is asked whether it happened, so that the returned error
// tells; only when that cannot be found out it is [jobs.ErrUnknownOutcome].
func (s *Store) Write(ctx context.Context, fn func(context.Context, db.Querier) error) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	for run := 1; ; run++ {
		err := s.transact(ctx, fn)
		if err == nil {
			return nil
		}
		if readOnly(err) && run == 1 && s.ownPool {
			s.pool.Reset() // a session stays as the settings were when it began
			continue
		}
		again := collided(err) || lost(err) && !notConnected(err)
		if !again || run == reruns || errors.Is(err, jobs.ErrUnknownOutcome) || ctx.Err() != nil {
			return translate(err)
		}
	}
}

// transact is one run. Its error means that nothing was committed, but for ErrUnknownOutcome.
func (s *Store) transact(ctx context.Context, fn func(context.Context, db.Querier) error) (err error) {
	conn, err := s.acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release() // which closes it when the transaction is still open
	// Up to the commit the end of ctx closes the connection, and the server, which is told so, rolls back.
	w := newWatch(ctx, s.options.silence)
	defer func() { err = w.end(err) }()

	t := &transaction{store: s, conn: conn, watch: w}
	prepare := !s.unprepared.Load()
	if !prepare {
		if err := t.begin(); err != nil {
			return err
		}
	}
	over := false
	defer func() {
		if over {
			return
		}
		p := recover()
		if t.begun {
			if rollbackErr := t.exec("rollback"); rollbackErr != nil && err == nil {
				err = rollbackErr
			}
		}
		if p != nil {
			err = fmt.Errorf("panic in a write: %v", p)
		}
	}()
	q := s.querier(opening{watched{conn.Conn(), w}, t.beginWith, t.begin, s.mode}, prepare, t.ring)
	if err := fn(w.ctx, q); err != nil {
		return err
	}
	over = true
	if !t.begun {
		return nil
	}
	if s.options.onCommit != nil {
		s.options.onCommit()
	}
	// The commit goes on when ctx ends: its outcome would not be known.
	t.watch = newWatch(context.WithoutCancel(ctx), s.options.silence)
	return t.watch.end(t.commit())
}

// transaction is one on a connection of the pool. It is driven by hand to save round trips: it begins with its first
// statement, its id and the server's time come with the beginning, notifications go with the commit.
type transaction struct {
	store *Store
	conn  *pgxpool.Conn
	watch *watch
	begun bool // or may be
	id    int64
	life  string   // of the server: see wasCommitted
	bells []string // queues that got jobs
}

// ring notes that a job was added to a queue.
func (t *transaction) ring(_ context.Context, queue string) error {
	if !slices.Contains(t.bells, queue) {
		t.bells = append(t.bells, queue)
	}
	return nil
}

// beginWith sends the beginning ahead of the first statement.
//
// The settings that come with it: the server keeps the plan of a prepared statement, also one that it made while the
// tables were empty, so it must not be one that reads whole tables; and the locks of a process that is stopped in the
// middle of a transaction must not stay for ever.
func (t *transaction) beginWith(batch *pgx.Batch) func(pgx.BatchResults) error {
	if t.begun {
		return nil
	}
	t.begun = true
	sent := t.store.clock.local()
	batch.Queue(control("begin"))
	batch.Queue(control("transaction"))
	return func(results pgx.BatchResults) error {
		if _, err := results.Exec(); err != nil {
			return err
		}
		var server int64
		if err := results.QueryRow().Scan(&t.id, &server, &t.life, nil, nil, nil, nil); err != nil {
			return err
		}
		t.store.clock.sample(server, sent, t.store.clock.local())
		return nil
	}
}

// begin is for connections on which nothing may be prepared, and for statements that are not prepared yet.
func (t *transaction) begin() error {
	if t.begun {
		return nil
	}
	t.begun = true
	sent := t.store.clock.local()
	results, err := t.batch(statement("begin"), statement("transaction"))
	if err != nil {
		return err
	}
	row := results[len(results)-1].Rows
	if len(row) != 1 || len(row[0]) < 3 {
		return errors.New("the server did not say which transaction it is")
	}
	if t.id, err = strconv.ParseInt(string(row[0][0]), 10, 64); err != nil {
		return err
	}
	server, err := strconv.ParseInt(string(row[0][1]), 10, 64)
	if err != nil {
		return err
	}
	t.life = string(row[0][2])
	t.store.clock.sample(server, sent, t.store.clock.local())
	return nil
}

func (t *transaction) commit() error {
	var list []command
	for _, queue := range t.bells {
		list = append(list, statement("notify", t.store.names.channel(), notification(t.store.hub.token, jobs.WorkReady, queue)))
	}
	results, err := t.batch(append(list, statement("commit"))...)
	switch {
	case err == nil && results[len(results)-1].CommandTag.String() == "COMMIT":
		return nil
	case err == nil:
		return errors.New("the server rolled the transaction back")
	case !lost(t.watch.cause(err)):
		return err // the server said why
	}
	t.conn.Release() // which closes it: the pool may have no other connection to ask by
	committed, unknown := t.store.wasCommitted(t.id, t.life)
	switch {
	case unknown != nil:
		return fmt.Errorf("%w: %w; %w", jobs.ErrUnknownOutcome, err, unknown)
	case committed:
		return nil
	}
	return err
}

func (t *transaction) exec(name string) error {
	_, err := t.batch(statement(name))
	return err
}

// command is a statement of sql/control with its arguments as text.
type command struct {
	sql  string
	args [][]byte
}

func statement(name string, args ...string) command {
	c := command{sql: control(name)}
	for _, arg := range args {
		c.args = append(c.args, []byte(arg))
	}
	return c
}

// batch runs statements in one round trip, unprepared, which works behind any pooler.
func (t *transaction) batch(commands ...command) ([]*pgconn.Result, error) {
	t.watch.extend()
	var b pgconn.Batch
	for _, c := range commands {
		b.ExecParams(c.sql, c.args, nil, nil, nil)
	}
	return t.conn.Conn().PgConn().ExecBatch(t.watch.ctx, &b).ReadAll()
}

// wasCommitted asks the server what became of a transaction whose connection was lost, for as long as it may still be
// under way there, or the server is away.
//
// A server that crashed forgets the transactions that it had not begun to write down, and a standby that was promoted may
// never have heard of them; both give their numbers anew. So the answer counts only in the same life of the server: its
// statistics tell, which a crash sets back and which are each server's own.
func (s *Store) wasCommitted(id int64, life string) (bool, error) {
	ctx, cancel := context.WithTimeoutCause(context.Background(), s.options.asking, errSilent)
	defer cancel()
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		var status string
		var same bool
		err := s.pool.QueryRow(ctx, control("transaction_status"), once(id, life)...).Scan(&status, &same)
		switch {
		case err == nil && status == "committed" && !same:
			return false, errors.New("the server crashed or is another, and may have given the transaction's number to another transaction")
		case err == nil && status == "committed":
			return true, nil
		case err == nil && status == "aborted", neverGiven(err):
			return false, nil
		case err == nil && status == "standby": // which may lag behind, and may become the server
		case err == nil && status == "forgotten":
			return false, errors.New("the server has forgotten the transaction")
		case err != nil && !lost(err) && ctx.Err() == nil:
			return false, err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return false, errors.Join(context.Cause(ctx), err)
		}
	}
}
