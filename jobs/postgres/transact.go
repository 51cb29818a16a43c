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

	"github.com/sqluice/sqluice/db"
	dbpostgres "github.com/sqluice/sqluice/db/postgres"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
)

// writer runs transactions on the pool. The hub's token marks their notifications.
type writer struct {
	conns *connections
	hub   *hub
	ready func(context.Context) error // checks the schema
}

// statements is the function that a transaction runs.
type statements = func(ctx context.Context, t *transaction, q db.Querier) error

// write runs fn by transact, again where that may help. writes is the number of callers' writes in it. transact reports whether
// it committed anything.
func (s *writer) write(ctx context.Context, writes int, transact func(context.Context, statements) (bool, error), fn statements) error {
	if err := s.ready(ctx); err != nil {
		return core.EndFirst(ctx, err)
	}
	for run := 1; ; run++ {
		began := time.Now()
		committed, err := transact(ctx, fn)
		if err == nil {
			if committed {
				s.tellCommitted(writes, time.Since(began))
			}
			return nil
		}
		if readOnly(err) && run == 1 && s.conns.ownPool {
			s.conns.pool.Reset() // a session keeps the settings of its start
			continue
		}
		if !s.runsAgain(ctx, run, err) {
			return core.EndFirst(ctx, s.conns.explain(ctx, err))
		}
	}
}

// runsAgain reports whether to run a transaction again whose nth run failed, and prepares that run.
func (s *writer) runsAgain(ctx context.Context, n int, err error) bool {
	s.conns.distrust(n, err)
	if n == reruns || errors.Is(err, jobs.ErrUnknownOutcome) || ctx.Err() != nil {
		return false
	}
	return broken(err) || collided(err) || sequenceOf(err) != "" && n == 1 && sequences{s.conns}.mendSequences(ctx)
}

func (s *writer) tellCommitted(writes int, took time.Duration) {
	if o := s.conns.options.observer; o != nil && o.Committed != nil {
		o.Committed(writes, took)
	}
}

// transact runs a transaction once. Its error means that nothing was committed, except for ErrUnknownOutcome.
func (s *writer) transact(ctx context.Context, fn statements) (committed bool, err error) {
	return s.transactUntil(ctx, ctx, fn)
}

// transactUntil is transact with a separate context for the commit, which may last longer than the statements.
func (s *writer) transactUntil(ctx, committing context.Context, fn statements) (committed bool, err error) {
	conn, err := s.conns.acquire(ctx)
	if err != nil {
		return false, err
	}
	defer conn.Release() // closes it when the transaction is still open
	// Until the commit, the end of ctx closes the connection and cancels on the server, which rolls back.
	w := s.conns.watchPrompt(ctx, conn)
	defer func() { err = w.end(err) }()

	prepare := !s.conns.unprepared.Load()
	t := &transaction{store: s, conn: conn, watch: w, prepare: prepare}
	brief := engine.IsBrief(ctx)
	if !prepare || brief {
		if err := t.begin(); err != nil {
			return false, err
		}
	}
	over := false
	defer func() {
		if !over {
			err = t.abandon(recover(), err)
		}
	}()
	t.direct = preamble{watched: watched{conn.Conn(), w}, ahead: t.beginWith, first: t.begin, mode: s.conns.mode}
	t.placed = placed{t.direct, s.conns.names, prepare}
	if brief {
		if err := t.exec("wait_briefly"); err != nil {
			return false, err
		}
	}
	if err := fn(w.ctx, t, queries{dbpostgres.New(t.placed), t.run}); err != nil {
		return false, err
	}
	over = true
	if !t.begun {
		return false, nil
	}
	if s.conns.options.onCommit != nil {
		s.conns.options.onCommit()
	}
	// The commit continues for a moment after ctx ends: its outcome would be unknown.
	t.watch = s.conns.watches.watchCommit(committing, t.commitHangs)
	err = t.watch.end(t.commit(committing))
	outcomes{s.conns}.commitEnded(t.watch)
	return true, err
}

// abandon rolls back after an error or a panic, and returns the transaction's error.
func (t *transaction) abandon(panicked any, err error) error {
	if t.begun {
		if rollbackErr := t.exec("rollback"); err == nil {
			err = rollbackErr
		}
	}
	if panicked != nil {
		return fmt.Errorf("panic in a write: %v", panicked)
	}
	return err
}

// commitHangs reports whether the server still works on a transaction's slow commit: then the connection is good, and giving it up would
// cancel the server's wait. It logs the first of such commits. It returns false in a closed store.
func (t *transaction) commitHangs(w *watch) bool {
	if t.store.conns.closing.Load() {
		return false
	}
	ctx, cancel := context.WithTimeout(w.ctx, t.store.conns.options.prompt)
	defer cancel()
	defer context.AfterFunc(w.commit.caller, cancel)()
	var waitsFor string
	conn, err := sessions{t.store.conns}.connectAsPool(ctx)
	switch {
	case hasCode(err, codeTooMany): // the server itself answered
	case err != nil:
		return false
	default:
		defer closeSoon(ctx, conn)
		var status transactionStatus
		err := conn.QueryRow(ctx, control("transaction_status"), once(t.id, t.life)...).Scan(status.values()...)
		if err != nil || status.name != inProgress || !status.sameLife {
			return false
		}
		// A role without the right to see it gets a log entry without it.
		_ = conn.QueryRow(ctx, control("transaction_waits"), once(t.id)...).Scan(&waitsFor)
	}
	if t.store.conns.hung.add(w) {
		t.store.conns.options.logger.Warn("commits hang: the server does not confirm them. A worker claims nothing until it does",
			"after", time.Since(w.commit.began).Round(time.Millisecond), "server_waits_for", waitsFor)
	}
	return true
}

// transaction is a transaction on a connection of the pool. It builds its own batches to save round trips: BEGIN goes
// with the first statement, which also returns its id and the server's time, and notifications go with the commit.
type transaction struct {
	store *writer
	conn  *lentConn
	watch *watch

	prepare bool     // statements may be prepared on the connection
	direct  preamble // the connection, as statements use it
	placed  placed   // the same, in the queue's schema

	begun       bool // true also if BEGIN may have arrived
	id          int64
	life        string   // life of the server: see wasCommitted
	synchronous bool     // the server has synchronous standbys
	cycle       bool     // a runner's: no caller gets its outcome
	last        []queued // sent with the commit
	lastRan     ran      // called after each of them
	added       []string // queues with new jobs, to be announced
}

// announce records that jobs were added to a queue; the commit notifies other processes. It records each queue once,
// unless notifications are off.
func (t *transaction) announce(queue string) {
	if !t.store.conns.options.silent && !slices.Contains(t.added, queue) {
		t.added = append(t.added, queue)
	}
}

// lifeKey is the key under which a connection stores the life of its server, once known: no connection outlives one.
// (Behind a pooler the next transaction may be on another server connection.)
const lifeKey = "sqluice: life"

// beginWith sends BEGIN and settings ahead of the first statement.
//
// Why these settings: the server keeps the plan of a prepared statement, even one made while the tables were empty, so
// it must not be one that reads whole tables; and a process that is stopped in the middle of a transaction must not
// keep its locks for ever.
func (t *transaction) beginWith(batch *pgx.Batch) func(pgx.BatchResults) error {
	if t.begun {
		return nil
	}
	t.begun = true
	data := t.conn.Conn().PgConn().CustomData()
	life, known := data[lifeKey].(string)
	sent := t.store.conns.clock.instant()
	batch.Queue(control("begin"))
	if known {
		batch.Queue(control("transaction_again"))
	} else {
		batch.Queue(control("transaction"))
	}
	return func(results pgx.BatchResults) error {
		if _, err := results.Exec(); err != nil {
			return err
		}
		var server int64
		values := []any{&t.id, &server, nil, nil, nil, nil, nil, &t.synchronous, &life}
		if known {
			values = values[:len(values)-1]
		}
		if err := results.QueryRow().Scan(values...); err != nil {
			return err
		}
		t.life, data[lifeKey] = life, life
		t.store.conns.synchronous.Store(t.synchronous)
		t.store.conns.clock.sample(server, sent, t.store.conns.clock.instant())
		return nil
	}
}

// begin begins on connections on which nothing may be prepared, and for statements that are not prepared yet.
func (t *transaction) begin() error {
	if t.begun {
		return nil
	}
	t.begun = true
	sent := t.store.conns.clock.instant()
	results, err := t.batch(newCommand("begin"), newCommand("transaction"))
	if err != nil {
		return err
	}
	row := results[len(results)-1].Rows
	if len(row) != 1 || len(row[0]) < 9 {
		return errors.New("the server did not return the transaction's number")
	}
	if t.id, err = strconv.ParseInt(string(row[0][0]), 10, 64); err != nil {
		return err
	}
	server, err := strconv.ParseInt(string(row[0][1]), 10, 64)
	if err != nil {
		return err
	}
	t.synchronous = string(row[0][7]) == "t"
	t.store.conns.synchronous.Store(t.synchronous)
	if t.life = string(row[0][8]); t.prepare {
		t.conn.Conn().PgConn().CustomData()[lifeKey] = t.life
	}
	t.store.conns.clock.sample(server, sent, t.store.conns.clock.instant())
	return nil
}

// commit commits. The end of ctx leaves the outcome unknown.
func (t *transaction) commit(ctx context.Context) error {
	conn := t.conn.Conn()
	forgetWait(conn)
	tag, err := t.end()
	switch {
	case err != nil && t.watch.gaveUp():
		return fmt.Errorf("%w: %w: %w", jobs.ErrUnknownOutcome, core.EndOf(ctx), err)
	case err == nil && tag.String() == "COMMIT":
		if unreplicated(conn) || t.acknowledges() && !hears(conn) {
			return t.confirm(ctx)
		}
		return nil
	case err == nil:
		return errors.New("the server rolled the transaction back")
	case !lost(t.watch.cause(err)): // the server gave the cause
		_ = t.exec("rollback") // if that fails as well, the connection is closed
		return err
	}
	t.conn.Release() // closes it: the pool may have no other connection to ask by
	ctx, cancel := core.Linger(ctx)
	defer cancel()
	committed, unknown := outcomes{t.store.conns}.wasCommitted(ctx, t.id, t.life)
	switch {
	case unknown != nil:
		return fmt.Errorf("%w: %w; %w", jobs.ErrUnknownOutcome, err, unknown)
	case committed && t.synchronous: // possibly after a cancelled wait for standbys
		return t.confirm(ctx)
	case committed:
		return nil
	}
	return err
}

// confirm returns nil when the synchronous standbys have the transaction. It releases the connection.
func (t *transaction) confirm(ctx context.Context) error {
	t.conn.Release()
	ctx, cancel := core.Linger(ctx)
	defer cancel()
	return outcomes{t.store.conns}.confirm(ctx, t.life)
}

// acknowledges reports whether the commit must write a log record so that the server waits for its standbys: a transaction without
// changes may have relied on a row that they do not have yet.
func (t *transaction) acknowledges() bool { return t.synchronous && !t.cycle }

// end sends the last statements, the notifications and the commit in one round trip, prepared where possible: parsing
// and planning the last two each time costs the server up to a fifth of an enqueue.
func (t *transaction) end() (pgconn.CommandTag, error) {
	channel := t.store.conns.names.channel()
	if !t.prepare {
		var list []command
		if t.acknowledges() {
			list = append(list, newCommand("log_record"))
		}
		for _, queue := range t.added {
			list = append(list, newCommand("notify", channel, notification(t.store.hub.token, core.WorkReady, queue)))
		}
		results, err := t.batch(append(list, newCommand("commit"))...)
		if err != nil {
			return pgconn.CommandTag{}, err
		}
		return results[len(results)-1].CommandTag, nil
	}
	t.watch.extend()
	var batch pgx.Batch
	n := len(t.added)
	for _, s := range t.last {
		batch.Queue(t.qualify(s.text), s.args...)
	}
	if t.acknowledges() {
		batch.Queue(control("log_record"))
		n++
	}
	for _, queue := range t.added {
		batch.Queue(control("notify"), channel, notification(t.store.hub.token, core.WorkReady, queue))
	}
	batch.Queue(control("commit"))
	results := t.conn.Conn().SendBatch(t.watch.ctx, &batch)
	if err := readAll(t.last, func(queued) (pgx.Rows, error) { return results.Query() }, t.lastRan); err != nil {
		_ = results.Close() // it returns the same error
		return pgconn.CommandTag{}, err
	}
	for range n {
		if err := takeOne(results); err != nil {
			_ = results.Close() // it returns the same error
			return pgconn.CommandTag{}, err
		}
	}
	tag, err := results.Exec()
	if closeErr := results.Close(); err == nil {
		err = closeErr
	}
	return tag, err
}

func (t *transaction) exec(name string) error {
	_, err := t.batch(newCommand(name))
	return err
}

// command is a statement of sql/control with its arguments as text.
type command struct {
	sql  string
	args [][]byte
}

func newCommand(name string, args ...string) command {
	c := command{sql: control(name)}
	for _, arg := range args {
		c.args = append(c.args, []byte(arg))
	}
	return c
}

// batch runs statements unprepared in one round trip, which works behind any pooler.
func (t *transaction) batch(commands ...command) ([]*pgconn.Result, error) {
	t.watch.extend()
	var b pgconn.Batch
	for _, c := range commands {
		b.ExecParams(c.sql, c.args, nil, nil, nil)
	}
	return t.conn.Conn().PgConn().ExecBatch(t.watch.ctx, &b).ReadAll()
}

// run runs statements in order: in one round trip, and with BEGIN unless the transaction has begun, if all of them are prepared on the
// connection; otherwise one by one, since pgx prepares a whole batch before it sends any of it.
func (t *transaction) run(ctx context.Context, list []queued, ran ran) error {
	if len(list) == 0 {
		return nil
	}
	if !t.prepared(list) {
		return readAll(list, func(s queued) (pgx.Rows, error) { return t.placed.Query(ctx, s.text, s.args...) }, ran)
	}
	var batch pgx.Batch
	begun := t.beginWith(&batch)
	for _, s := range list {
		batch.Queue(t.qualify(s.text), s.args...)
	}
	t.watch.extend()
	results := t.conn.Conn().SendBatch(ctx, &batch)
	var err error
	if begun != nil {
		err = begun(results)
	}
	if err == nil {
		err = readAll(list, func(queued) (pgx.Rows, error) { return results.Query() }, ran)
	}
	if closeErr := results.Close(); err == nil {
		err = closeErr
	}
	return err
}

// runAtCommit runs statements with the commit, or at once if they are not prepared yet. Their answers are there after the commit.
func (t *transaction) runAtCommit(ctx context.Context, list []queued, ran ran) error {
	if !t.begun || !t.prepared(list) {
		return t.run(ctx, list, ran)
	}
	t.last, t.lastRan = list, ran
	return nil
}

// prepared reports whether all statements are prepared on the connection.
func (t *transaction) prepared(list []queued) bool {
	if !t.prepare {
		return false
	}
	for _, s := range list {
		if !t.direct.prepared(t.qualify(s.text)) {
			return false
		}
	}
	return true
}

func (t *transaction) qualify(text string) string { return t.store.conns.names.qualify(text) }
