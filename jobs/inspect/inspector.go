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

// Inspector reads and changes the jobs of a client's queue. Make one with [New]; its zero value is not usable. It holds no
// resources, and all its methods may be called concurrently unless the client works inside a transaction.
type Inspector struct {
	scope *engine.Scope
}

// New returns an inspector of the client's queue. Like the client, it redacts sensitive fields unless the client is Revealed,
// and works inside a caller's transaction when the client does.
func New(client *jobs.Client) *Inspector { return &Inspector{engine.ScopeOf(client)} }

// view returns the rules by which the inspector redacts jobs.
func (in *Inspector) view() redact.View {
	return redact.View{Revealed: in.scope.Revealed, Errors: in.scope.Errors, Cipher: in.scope.Cipher}
}

// show returns rows as jobs, redacted unless the client is revealed.
func (in *Inspector) show(ctx context.Context, q db.Querier, rows []db.Job) ([]jobs.Job, error) {
	if err := in.view().Rows(ctx, q, rows); err != nil {
		return nil, err
	}
	list := core.Map(rows, jobrow.Of)
	return list, jobrow.FillAll(ctx, q, list)
}

// MaxPage is the largest number of rows that one call of a list method returns.
const MaxPage = 1000

const defaultPage = 100

// pageSize returns the number of rows for a limit, and an InvalidError for a limit that is not allowed.
func pageSize(limit int) (int64, error) {
	if limit == 0 {
		return defaultPage, nil
	}
	if limit < 1 || limit > MaxPage {
		return 0, jobtype.NewInvalidError("limit", fmt.Sprint(limit), fmt.Sprintf("be from 1 to %d", MaxPage))
	}
	return int64(limit), nil
}

// checkFilter returns an InvalidError for a text that no row can have, such as one with a NUL: PostgreSQL rejects such
// parameters. An empty text is no filter.
func checkFilter(field, text string, most int) error {
	if text == "" {
		return nil
	}
	return core.CheckText(field, text, most)
}

// since returns a filter's time as a parameter; for the zero time 0, which is before every row.
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

// Now returns the time of the clock for leases and due times: on PostgreSQL the server's.
func (in *Inspector) Now() time.Time { return in.scope.Now() }
