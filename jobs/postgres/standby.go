package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// A server with synchronous standbys (synchronous_standby_names) writes a commit and then waits until they have it. When a client, a
// person or the end of the session cancels that wait, the server warns and still reports the commit as done. The promotion of a standby
// then loses it. So a commit counts as acknowledged only if that server acknowledged it, or a later commit, without that warning.

// standbyWait is the server function that waits for standbys. A notice contains the name of its source function, in every language.
const standbyWait = "SyncRepWaitForLSN"

// The keys of a connection's data: its notices are heard; the server gave up the standby wait of its last commit.
const (
	hearsKey        = "sqluice: hears notices"
	unreplicatedKey = "sqluice: not replicated"
)

// Configure prepares the configuration of an application's pool for [New], so that the queue learns when the server gives up waiting for
// its synchronous standbys. Without it, if the server has synchronous standbys, the queue makes a separate connection after each write to
// ask the server, which takes many times as long; without standbys only [jobs.Client.Tx] needs one more round trip. Call Configure after
// setting OnNotice and AfterConnect, which it keeps. [Open] needs no Configure.
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

// hearNotices makes connections of this configuration record whether the server gave up a wait for its standbys.
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

// hears reports whether the notices of a connection are recorded.
func hears(conn *pgx.Conn) bool { return conn.PgConn().CustomData()[hearsKey] != nil }

// forgetWait clears a connection's record before a commit, after which unreplicated is valid.
func forgetWait(conn *pgx.Conn) { delete(conn.PgConn().CustomData(), unreplicatedKey) }

// unreplicated reports whether the server gave up the wait of the connection's commit.
func unreplicated(conn *pgx.Conn) bool { return conn.PgConn().CustomData()[unreplicatedKey] != nil }

// errUnreplicated is the reason why the outcome of a commit is unknown although the server committed it.
var errUnreplicated = errors.New("the server stopped waiting for its synchronous standbys, which may not have the commit")

// durability reports whether the server has synchronous standbys, and returns the server's life.
func durability(ctx context.Context, conn *pgx.Conn) (synchronous bool, life string, err error) {
	err = conn.QueryRow(ctx, control("durability"), once()...).Scan(&synchronous, &life)
	return synchronous, life, err
}
