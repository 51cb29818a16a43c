package conformance

import (
	"context"
	"encoding/json"

	"github.com/sqluice/sqluice/db"
)

// Columns of the table jobs.
const (
	columnKind     = 2
	columnFinished = 27
	columnError    = 24
	columnTags     = 20
)

// failedRow returns the row of a job that failed, with its columns in their order and the next id. All end at one time.
func (f *fixture) failedRow(kind, message string) []any {
	f.Helper()
	var last db.GetLastIDsRow
	f.must(f.store.Read(f.ctx, func(ctx context.Context, q db.Querier) error {
		var err error
		last, err = q.GetLastIDs(ctx)
		return err
	}))
	const at int64 = 1_700_000_000_000_000
	return []any{
		last.Job + 1, "default", kind, "{}", 1, 0, "failed", 0, at, nil, nil, 1, 0, 0, nil, nil, nil,
		nil, nil, nil, nil, nil, nil, nil, message, at, at, at, at,
	}
}

// importJob adds a row as another program might.
func (f *fixture) importJob(row []any) {
	f.Helper()
	f.importJobs([][]any{row})
}

func (f *fixture) importJobs(rows [][]any) {
	f.Helper()
	items, err := json.Marshal(rows)
	f.must(err)
	f.write(func(ctx context.Context, q db.Querier) error {
		n, err := q.ImportJobs(ctx, string(items))
		want(f, "rows that were added", n, int64(len(rows)))
		return err
	})
}
