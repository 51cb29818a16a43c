package inspect

import (
	"context"
	"fmt"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/jobrow"
	"github.com/sqluice/sqluice/internal/queue/redact"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// Inspector reads and changes the jobs of a client's queue. Make one with [New]; it has no zero value. It holds no resources,
// and all its methods may be called concurrently unless the client works inside a transaction.
type Inspector struct {
	scope *engine.Scope
}

// New returns an inspector of the client's queue. Like the client, it redacts what kinds mark as sensitive unless the client is
// Revealed, and works inside a caller's transaction when the client does.
func New(client *jobs.Client) *Inspector { return &Inspector{engine.ScopeOf(client)} }

// view is what the inspector shows of jobs.
func (in *Inspector) view() redact.View {
	return redact.View{Revealed: in.scope.Revealed, Errors: in.scope.Errors, Cipher: in.scope.Cipher}
}

// show returns rows as jobs, redacted unless the client is revealed.
func (in *Inspector) show(ctx context.Context, q db.Querier, rows []db.Job) ([]jobs.Job, error) {
	if err := in.view().Rows(ctx, q, rows); err != nil {
		return nil, err
	}
	list := make([]jobs.Job, len(rows))
	for i, row := range rows {
		list[i] = jobrow.Of(row)
	}
	return list, jobrow.FillAll(ctx, q, list)
}

// MaxPage is how many rows one call to a method that lists returns at most.
const MaxPage = 1000

const defaultPage = 100

// pageSize returns the number of rows that a limit asks for, and an InvalidError for one that is not allowed.
func pageSize(limit int) (int64, error) {
	if limit == 0 {
		return defaultPage, nil
	}
	if limit < 1 || limit > MaxPage {
		return 0, jobtype.NewInvalidError("limit", fmt.Sprint(limit), fmt.Sprintf("be from 1 to %d", MaxPage))
	}
	return int64(limit), nil
}

// checkFilter returns an InvalidError for a text that no row can have, such as one with a NUL: PostgreSQL takes no such
// parameter. An empty text is no filter.
func checkFilter(field, text string, most int) error {
	if text == "" {
		return nil
	}
	return core.CheckText(field, text, most)
}

// since returns a filter's time as a parameter: 0, which every row is after, for the zero time.
func since(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return core.Micros(t)
}

// checkCursor returns an InvalidError for an id that is negative.
func checkCursor(field string, id int64) error {
	if id < 0 {
		return jobtype.NewInvalidError(field, fmt.Sprint(id), "not be negative")
	}
	return nil
}

// Now returns the time by the clock that leases and due times are compared with: on PostgreSQL the server's.
func (in *Inspector) Now() time.Time { return in.scope.Now() }
