package jobs

import (
	"context"
	"database/sql"
	"fmt"
	"io"

	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/jobrow"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/internal/queue/redact"
	"github.com/sqluice/sqluice/internal/queue/runner"
)

// Store is a database that holds the queue. Programs open one (package jobs/sqlite or jobs/postgres), hand it to [New], and close it
// when all runners have returned. Only the engines of this module implement it.
type Store interface {
	sealedStore

	// Close waits for running writes and closes the connections.
	Close() error
}

// sealedStore gives the module access to the engine's port, by [engine.StoreOf].
type sealedStore = engine.StoreCarrier

// Client enqueues jobs, waits for them and changes them; package jobs/inspect lists and counts them. Make one with [New]. It has
// no zero value, and all its methods may be called concurrently. Clients are cheap: they hold no resources but their store's.
type Client struct {
	sealed
	given      Store        // the store passed to New
	store      engine.Store // the engine's port of given, wrapped by engine.Observed
	middleware []EnqueueMiddleware
	around     EnqueueFunc // nil without middleware
	runners    *runner.Registry
	marks      *lifecycle.Marks
	kinds      *jobrow.Declared
}

// sealed gives package inspect access to the client's scope, by [engine.ScopeOf].
type sealed = engine.Sealed

// New returns a client of the queue in a store.
func New(store Store, opts ...ClientOption) *Client {
	c := &Client{given: store, store: engine.Observed(engine.StoreOf(store)), runners: &runner.Registry{}, marks: lifecycle.NewMarks(), kinds: &jobrow.Declared{}}
	c = c.with(engine.Scope{Store: c.store, Identity: engine.SharedOf(store), Searches: &engine.SharedOf(store).Searches})
	for _, opt := range opts {
		opt(c)
	}
	c.around = c.wrapped()
	return c
}

// With returns a client whose enqueues and reads run inside the caller's transaction: its jobs exist if and only if the
// transaction commits, and a change that fails leaves nothing of it there. It must not be used after that. Wait, Migrate
// and Backup need a client outside. [Client.Tx] is for programs that have no transaction.
//
// Every call of a client with a nil tx returns an error.
func (c *Client) With(tx Tx) *Client {
	if tx == nil {
		tx = c.store.Transactions().SQLTx(nil)
	}
	scope := *c.scope()
	scope.Tx = tx
	return c.with(scope)
}

// WithSQL is [Client.With] for a transaction of database/sql, on either engine; sqlite.Tx and postgres.SQLTx describe the accepted ones.
func (c *Client) WithSQL(tx *sql.Tx) *Client { return c.With(c.SQLTx(tx)) }

// SQLTx returns a transaction of database/sql for [CompleteTx], on either engine.
func (c *Client) SQLTx(tx *sql.Tx) Tx { return c.store.Transactions().SQLTx(tx) }

// Revealed returns a client that shows jobs unredacted, with the fields that their kinds mark as sensitive and the values that it can
// decrypt ([WithCipher]): for a service's own code. It changes neither enqueues nor what handlers get.
func (c *Client) Revealed() *Client {
	scope := *c.scope()
	scope.Revealed = true
	return c.with(scope)
}

// view returns the rules by which the client redacts jobs.
func (c *Client) view() redact.View {
	return redact.View{Revealed: c.scope().Revealed, Errors: c.scope().Errors, Cipher: c.scope().Cipher}
}

// scope returns the scope in which the client's statements run.
func (c *Client) scope() *engine.Scope { return engine.ScopeOf(c) }

// with returns a copy of the client with another scope.
func (c *Client) with(scope engine.Scope) *Client {
	other := *c
	other.sealed = engine.Seal(scope)
	return &other
}

// Store returns the store that the client was made with.
func (c *Client) Store() Store { return c.given }

// Migrate migrates the database's schema to the version this library was built for and returns the names of the migrations that ran: none
// when there was nothing to do. Several processes may call it at once.
//
// If the database has the queue's tables without their versions, for example after a dump of the schema alone was loaded, Migrate
// compares them with the versions of the schema. It records the version that they equal, logs it, and runs the later migrations.
// Otherwise it changes nothing, and the error names the difference.
func (c *Client) Migrate(ctx context.Context) ([]string, error) {
	done, err := c.store.Migrations().Migrate(ctx)
	return done.Names, core.Wrap(err, "migrate")
}

// Backup writes a consistent copy of the database to a file that must not exist yet, while everything runs.
func (c *Client) Backup(ctx context.Context, path string) error {
	return core.Wrap(c.store.Upkeep().Backup(ctx, path), "back up to %s", path)
}

// BackupTo writes the same copy to w, such as the answer to an HTTP request or a hash, while everything runs. It calls w on the
// caller's goroutine, holds no lock of the database meanwhile, and returns w's error.
func (c *Client) BackupTo(ctx context.Context, w io.Writer) error {
	return core.Wrap(c.store.Upkeep().BackupTo(ctx, w), "back up")
}

// CheckSchema returns a [SchemaError] unless this program runs on the database's schema: it must be the one that the library was built
// for, or a newer one whose migrations declare it compatible.
func (c *Client) CheckSchema(ctx context.Context) error {
	done, err := engine.SharedOf(c.given).SchemaChecks.Take(ctx)
	if err != nil {
		return fmt.Errorf("read the schema's version: %w", err)
	}
	defer done(0)
	return engine.CheckSchema(ctx, c.store)
}

// CheckOpen returns [ErrMoved], with the other database, when the queue is closed by a move.
func (c *Client) CheckOpen(ctx context.Context) error {
	return c.scope().Read(ctx, lifecycle.CheckOpen)
}
