package move

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// checkIdle returns an error if a worker of the source lives or a job runs. It first rescues the jobs of dead workers, because the
// source may have no runner that would.
func (m *mover) checkIdle(ctx context.Context) error {
	if err := inspect.New(m.From.client()).RescueGone(ctx, m.Logger); err != nil {
		return m.From.fault(err)
	}
	var live []db.Worker
	var running int64
	err := m.From.Store.Read(ctx, func(ctx context.Context, q db.Querier) error {
		var err error
		if live, err = q.ListLiveWorkers(ctx); err != nil {
			return err
		}
		counts, err := q.CountRunningJobsPerWorker(ctx)
		running = 0
		for _, n := range counts {
			running += n.Jobs
		}
		return err
	})
	switch {
	case err != nil:
		return m.From.fault(err)
	case len(live) > 0:
		return m.From.fault(liveWorkersError(live, m.From.Store.Now()))
	case running > 0:
		return m.From.fault(fmt.Errorf("%d jobs are running, but no live worker is registered", running))
	}
	return nil
}

// liveWorkersError returns ErrLive with the names of the workers.
func liveWorkersError(workers []db.Worker, now time.Time) error {
	var names []string
	for _, w := range workers {
		seen := now.Sub(time.UnixMicro(w.HeartbeatAt)).Round(time.Second)
		names = append(names, fmt.Sprintf("%s (process %d on %s, last seen %s ago)", strconv.Quote(w.Name), w.Pid, w.Host, max(0, seen)))
	}
	return fmt.Errorf("%w: %s", ErrLive, strings.Join(names, ", "))
}

// checkEmpty returns an error if the target has rows, except rows of workers that have ended.
func (m *mover) checkEmpty(ctx context.Context) error {
	has, err := m.To.contents(ctx)
	if err != nil {
		return err
	}
	if len(has.rows) == 0 && len(has.live) > 0 { // such as after a trial of the target whose worker was killed
		if err := inspect.New(m.To.client()).RescueGone(ctx, m.Logger); err != nil {
			return m.To.fault(err)
		}
		if has, err = m.To.contents(ctx); err != nil {
			return err
		}
	}
	switch {
	case len(has.rows) > 0:
		return m.To.fault(fmt.Errorf("%w, and has %s", ErrNotEmpty, strings.Join(has.rows, ", ")))
	case len(has.live) > 0:
		return m.To.fault(liveWorkersError(has.live, m.To.Store.Now()))
	}
	return nil
}

// contents holds the rows and the live workers of a side.
type contents struct {
	rows []string // the names of the rows of each table that is not empty, without workers and declarations
	live []db.Worker
}

func (s Side) contents(ctx context.Context) (has contents, err error) {
	err = s.Store.Read(ctx, func(ctx context.Context, q db.Querier) error {
		if has.rows, err = filled(ctx, q, slices.DeleteFunc(allTables(), func(t table) bool { return t.name == "sqluice_workers" || t.name == "sqluice_declarations" })); err != nil {
			return err
		}
		has.live, err = q.ListLiveWorkers(ctx)
		return err
	})
	return has, s.fault(err)
}

// filled returns the names of the rows of each table that is not empty.
func filled(ctx context.Context, q db.Querier, tables []table) (rows []string, err error) {
	for _, t := range tables {
		list, err := t.list(ctx, q, first, 1)
		if err != nil {
			return nil, err
		}
		if len(list) > 0 {
			rows = append(rows, t.rows)
		}
	}
	return rows, nil
}
