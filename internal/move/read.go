package move

import (
	"context"
	"fmt"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
)

const (
	// mostRows is the maximum number of rows of a statement. A reader asks for fewer if rows are large: they may have several
	// megabytes each.
	mostRows = 100

	// mostBytes is the approximate size of the rows of a page, and of a transaction.
	mostBytes = 4 << 20
)

// reader reads a table page by page.
type reader struct {
	side  Side
	table table
	after int64 // the id of the last row of the previous page
	n     int64 // the number of rows of the next page
}

func newReader(side Side, t table, after int64) *reader {
	return &reader{side: side, table: t, after: after, n: mostRows}
}

// page returns at most most of the next rows, and none at the end.
func (r *reader) page(ctx context.Context, most int) ([]row, error) {
	rows, err := core.Value(ctx, r.side.Store.Read, func(ctx context.Context, q db.Querier) ([]row, error) {
		return r.table.list(ctx, q, r.after, min(r.n, int64(most)))
	})
	if err != nil {
		return nil, r.side.fault(fmt.Errorf("read %s: %w", r.table.name, err))
	}
	if len(rows) > 0 {
		r.after = rows[len(rows)-1].id
		r.n = max(1, min(mostRows, mostBytes/(bytesOf(rows)/int64(len(rows))+1)))
	}
	return rows, nil
}

func bytesOf(rows []row) int64 {
	var n int64
	for _, row := range rows {
		n += int64(len(row.text))
	}
	return n
}

// cursor reads a table row by row.
type cursor struct {
	reader *reader
	rows   []row
}

// next returns the next row, or ok false at the end.
func (c *cursor) next(ctx context.Context) (r row, ok bool, err error) {
	if len(c.rows) == 0 {
		if c.rows, err = c.reader.page(ctx, mostRows); err != nil || len(c.rows) == 0 {
			return row{}, false, err
		}
	}
	r, c.rows = c.rows[0], c.rows[1:]
	return r, true, nil
}
