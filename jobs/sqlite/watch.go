package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

const (
	// safetyLook is how often the watch looks although nothing told it to.
	safetyLook = time.Second

	// The bounds of the polling that serves where the system cannot tell of writes.
	pollFastest = time.Millisecond
	pollSlowest = 25 * time.Millisecond
)

// errMissed ends the watch on the directory: a commit was found that no event told of.
var errMissed = errors.New("a commit was found that the system did not tell of")

// watch wakes all listeners after commits of other connections until ctx ends. A fault of the database is none of the
// watch's business: it looks again, and whoever reads or writes meets the fault too.
func (h *hub) watch(ctx context.Context) {
	version := &dataVersion{store: h.store}
	defer version.close()
	err := h.watchEvents(ctx, version)
	if ctx.Err() != nil {
		return
	}
	h.store.options.logger.Warn("sqlite: waking up by polling", "database", h.store.path, "reason", err)
	h.poll(ctx, version)
}

// poll looks often while things happen and less often when they do not.
func (h *hub) poll(ctx context.Context, version *dataVersion) {
	wait := pollFastest
	for {
		if version.changed(ctx) {
			h.wake(jobs.WorkReady | jobs.JobEnded)
			wait = pollFastest
		} else {
			wait = min(2*wait, pollSlowest)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// dataVersion reads PRAGMA data_version on a connection of its own: it changes when any other connection commits.
type dataVersion struct {
	store *Store
	conn  *sql.Conn
	stmt  *sql.Stmt
	last  int64
	began bool // the last read was the first of its connection: what happened before it is not known
}

// changed reports whether there was a commit since the last call; the first call, and the first after a fault, says
// yes.
func (v *dataVersion) changed(ctx context.Context) bool {
	v.began = v.stmt == nil
	now, err := v.read(ctx)
	if err != nil {
		v.close() // to begin anew with another connection
		return false
	}
	if now == v.last {
		return false
	}
	v.last = now
	return true
}

func (v *dataVersion) read(ctx context.Context) (version int64, err error) {
	if v.stmt == nil {
		if v.conn, err = v.store.readDB.Conn(ctx); err != nil {
			return 0, err
		}
		if v.stmt, err = v.conn.PrepareContext(ctx, control("data_version")); err != nil {
			return 0, err
		}
	}
	err = v.stmt.QueryRowContext(ctx).Scan(&version)
	return version, err
}

func (v *dataVersion) close() {
	if v.stmt != nil {
		_ = v.stmt.Close()
	}
	if v.conn != nil {
		_ = v.conn.Close()
	}
	v.stmt, v.conn, v.last = nil, nil, 0
}
