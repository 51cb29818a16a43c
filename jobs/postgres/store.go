// Package postgres is the queue's engine on PostgreSQL (pgx): many machines share one queue.
//
// A process with workers keeps two connections beside its pool: one listens for notifications, one holds a lock that
// shows that the worker lives. Leases and due times go by the server's clock.
package postgres

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/sqluice/sqluice/internal/queue/engine"
)

// Store is a queue in a PostgreSQL database. Make one with [Open] or [New], and close it when all runners have returned. Its methods
// may be called concurrently.
type Store struct {
	sealed
	backend *backend
}

// sealed gives package jobs access to the engine.
type sealed = engine.SealedStore

// Open returns a store of the queue in the database that a URL names, as postgres://user:password@host:5432/name, with
// a pool of its own. It does not connect yet, so that programs can start before their server: the first use does. It
// does not migrate: see [github.com/sqluice/sqluice/jobs.Client.Migrate].
//
// Beside libpq's and pgx's parameters, such as sslmode and pool_max_conns, the URL takes the options of this package:
// schema=NAME, pgbouncer=true, notify=false, poll=500ms. Errors never show a password.
func Open(ctx context.Context, url string, opts ...Option) (*Store, error) {
	return newStore(openBackend(ctx, url, opts...))
}

// New returns a store of the queue that uses an application's own pool, which the application closes. A process with
// workers keeps two more connections beside it. Handlers that hold a connection while they wait for another can exhaust
// the pool: give it a few more than the handlers that use it at once.
func New(pool *pgxpool.Pool, opts ...Option) (*Store, error) {
	return newStore(newBackendOn(pool, opts...))
}

func newStore(b *backend, err error) (*Store, error) {
	if err != nil {
		return nil, err
	}
	return &Store{b.sealed, b}, nil
}

// Close ends the running work of the store and closes its connections, but not a pool that was given to [New].
func (s *Store) Close() error { return s.backend.Close() }
