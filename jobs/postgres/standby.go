package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/jobs"
)

// A server with synchronous standbys (synchronous_standby_names) writes a commit down and then waits until they have it. When that wait is
// cancelled, whether by a client, a person or the end of the session, the server warns and reports the commit as done all the same. The
// promotion of a standby then loses it. So a commit counts as acknowledged when the server acknowledged it without that warning, or when a
// later commit of the same server was.

// standbyWait is the function of the server that waits for standbys. A notice names the function that sent it, in every language.
const standbyWait = "SyncRepWaitForLSN"

// The keys of what a connection keeps: that its notices are heard, and that the server has given up the wait of its last commit.
const (
	hearsKey        = "sqluice: hears notices"
	unreplicatedKey = "sqluice: not replicated"
)

// Configure prepares the configuration of an application's pool for [New], so that the queue hears it when the server gives up waiting for
// its synchronous standbys. Without it the queue makes a connection of its own after each write to ask the server, while the server has
// synchronous standbys, which takes many times as long; without standbys [jobs.Client.Tx] alone has one round trip more. Call Configure after
// the configuration has its OnNotice and AfterConnect, which are kept. [Open] needs no Configure.
func Configure(config *pgxpool.Config) {
	hearNotices(&config.ConnConfig.Config)
	after := config.AfterConnect
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		conn.PgConn().CustomData()[hearsKey] = true
		if after == nil {
			return nil
		}
		return after(ctx, conn)
	}
}

// hearNotices makes connections of this configuration keep whether the server gave up a wait for its standbys.
func hearNotices(config *pgconn.Config) {
	next := config.OnNotice
	config.OnNotice = func(conn *pgconn.PgConn, notice *pgconn.Notice) {
		if notice.Routine == standbyWait {
			conn.CustomData()[unreplicatedKey] = true
		}
		if next != nil {
			next(conn, notice)
		}
	}
}

// hears reports whether the notices of a connection are heard.
func hears(conn *pgx.Conn) bool { return conn.PgConn().CustomData()[hearsKey] != nil }

// forgetWait prepares a connection for a commit, after which unreplicated counts.
func forgetWait(conn *pgx.Conn) { delete(conn.PgConn().CustomData(), unreplicatedKey) }

// unreplicated reports whether the server gave up the wait of the connection's commit.
func unreplicated(conn *pgx.Conn) bool { return conn.PgConn().CustomData()[unreplicatedKey] != nil }

// errUnreplicated is the reason why the outcome of a commit is unknown that the server has made.
var errUnreplicated = errors.New("the server stopped waiting for its synchronous standbys, which may not have the commit")

// confirm waits until the synchronous standbys have what the server has committed: a commit returns after those before it. It returns nil
// only in the same life of the server, and when nothing cancelled the wait. It uses a connection of its own, and waits no longer than
// a write whose connection broke asks for its outcome.
func (s outcomes) confirm(ctx context.Context, life string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.conns.options.asking, errSilent)
	defer cancel()
	if err := s.confirmOnce(ctx, life); err != nil {
		return fmt.Errorf("%w: %w: %w", jobs.ErrUnknownOutcome, errUnreplicated, core.EndFirst(ctx, err))
	}
	return nil
}

func (s outcomes) confirmOnce(ctx context.Context, life string) error {
	conn, err := sessions(s).connectAsPool(ctx)
	if err != nil {
		return err
	}
	defer closeSoon(ctx, conn)
	if _, err := conn.Exec(ctx, control("begin"), once()...); err != nil {
		return err
	}
	var position string
	var same bool
	if err := conn.QueryRow(ctx, control("log_record_in_life"), once(life)...).Scan(&position, &same); err != nil {
		return err
	}
	if !same {
		return errors.New("the server crashed or is another")
	}
	tag, err := conn.Exec(ctx, control("commit"), once()...)
	switch {
	case err != nil:
		return err
	case tag.String() != "COMMIT":
		return errors.New("the server rolled a transaction back")
	case unreplicated(conn):
		return errUnreplicated
	}
	return nil
}

// durability returns whether the server has synchronous standbys, and its life.
func durability(ctx context.Context, conn *pgx.Conn) (synchronous bool, life string, err error) {
	err = conn.QueryRow(ctx, control("durability"), once()...).Scan(&synchronous, &life)
	return synchronous, life, err
}

// hanging are the commits under way that the server has not confirmed for long, though it lives. Its methods may be called concurrently.
type hanging struct {
	mu      sync.Mutex
	commits map[*watch]struct{}
	since   time.Time // when the first of them was found
}

// add notes a commit that hangs, unless it has ended. It reports whether it is the only one.
func (h *hanging) add(w *watch) (first bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if w.ctx.Err() != nil {
		return false
	}
	if h.commits == nil {
		h.commits = map[*watch]struct{}{}
	}
	if first = len(h.commits) == 0; first {
		h.since = time.Now()
	}
	h.commits[w] = struct{}{}
	return first
}

// remove notes the end of a commit, whose watch has ended. It returns for how long commits hung when this was the last one, and 0 otherwise.
func (h *hanging) remove(w *watch) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, hung := h.commits[w]; !hung {
		return 0
	}
	if delete(h.commits, w); len(h.commits) > 0 {
		return 0
	}
	return max(time.Since(h.since), 1)
}

// commitHangs reports whether the server still works on the commit of a transaction that has taken long: the connection is as good as it
// was then, and to give it up would cancel the server's wait. It logs the first of such commits. A store that is closed waits no longer.
func (t *transaction) commitHangs(w *watch) bool {
	if t.store.conns.closing.Load() {
		return false
	}
	ctx, cancel := context.WithTimeout(w.ctx, t.store.conns.options.prompt)
	defer cancel()
	defer context.AfterFunc(w.caller, cancel)()
	var waitsFor string
	conn, err := sessions{t.store.conns}.connectAsPool(ctx)
	switch {
	case hasCode(err, codeTooMany): // which the server says itself
	case err != nil:
		return false
	default:
		defer closeSoon(ctx, conn)
		var status transactionStatus
		err := conn.QueryRow(ctx, control("transaction_status"), once(t.id, t.life)...).Scan(status.values()...)
		if err != nil || status.name != inProgress || !status.sameLife {
			return false
		}
		// A role may not be allowed to see it: the log then does not say it.
		_ = conn.QueryRow(ctx, control("transaction_waits"), once(t.id)...).Scan(&waitsFor)
	}
	if t.store.conns.hung.add(w) {
		t.store.conns.options.logger.Warn("commits hang: the server does not confirm them. A worker claims nothing until it does",
			"after", time.Since(w.began).Round(time.Millisecond), "server_waits_for", waitsFor)
	}
	return true
}

// commitEnded logs that the server confirms commits again, after the last commit that hung.
func (s outcomes) commitEnded(w *watch) {
	if hung := s.conns.hung.remove(w); hung > 0 {
		s.conns.options.logger.Info("no commit hangs any more", "after", hung.Round(time.Millisecond))
	}
}
