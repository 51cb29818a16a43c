package sqlite

import (
	"context"
	"database/sql"
	"sync"
	"sync/atomic"
)

// checkpointEach is after how many commits a checkpoint is made beside the writer. A job added by itself is three pages of the
// WAL, so that this is before wal_autocheckpoint's 1000 pages; larger transactions reach those first, and gain nothing by more
// checkpoints.
const checkpointEach = 250

// checkpoints bring the WAL to the database beside the writer. SQLite makes one in the commit that fills the WAL, and its wait
// for the disk was a quarter of the time of small commits. That one remains, because only a checkpoint with nothing after it
// lets the WAL begin anew, but finds most of the work done.
type checkpoints struct {
	pool    *sql.DB // of connections other than the writer's
	commits int     // since the last: the writer's own
	running atomic.Bool
	end     sync.WaitGroup
}

// committed is called by the writer after each of its commits.
func (c *checkpoints) committed() {
	c.commits++
	if c.commits < checkpointEach || !c.running.CompareAndSwap(false, true) {
		return
	}
	c.commits = 0
	c.end.Go(func() {
		defer c.running.Store(false)
		// One that fails, or that finds another under way, leaves its work to the next. SQLite's own tell nobody either.
		_, _ = c.pool.ExecContext(context.Background(), control("checkpoint"))
	})
}
