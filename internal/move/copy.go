package move

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sqluice/sqluice/db"
)

// mostInBatch is the maximum number of rows in one transaction.
const mostInBatch = 500

// errTwice is the error for a target that has changed since the last write of this call.
var errTwice = errors.New("another `sqluice copy` writes to the database")

// copyAll adds to the target all rows that it lacks.
func (m *mover) copyAll(ctx context.Context) error {
	has, err := m.To.lastIDs(ctx)
	if err != nil {
		return err
	}
	source, err := m.From.lastIDs(ctx)
	if err != nil {
		return err
	}
	if err := m.copySensitive(ctx); err != nil {
		return err
	}
	for _, t := range tables() {
		if err := m.copyTable(ctx, t, t.last(has), t.last(source)); err != nil {
			return err
		}
	}
	return m.copyNamed(ctx)
}

func (s Side) lastIDs(ctx context.Context) (last db.GetLastIDsRow, err error) {
	err = s.Store.Read(ctx, func(ctx context.Context, q db.Querier) error {
		last, err = q.GetLastIDs(ctx)
		return err
	})
	return last, s.fault(err)
}

// copyTable adds the rows of a table after the last row of the target.
func (m *mover) copyTable(ctx context.Context, t table, has, end int64) error {
	after := has
	if has == 0 {
		after = first
	}
	r := newReader(m.From, t, after)
	var done int64
	for {
		m.Progress(Progress{Doing: "copying " + t.name, Rows: done, Percent: percent(has, end)})
		batch, err := nextBatch(ctx, r, m.batch)
		if err != nil || len(batch) == 0 {
			return err
		}
		if err := m.add(ctx, t, has, batch); err != nil {
			return err
		}
		has = batch[len(batch)-1].id
		done += int64(len(batch))
	}
}

func percent(id, end int64) int64 {
	if id <= 0 || end <= 0 {
		return 0
	}
	return int64(100 * (float64(id) / float64(end)))
}

// nextBatch returns the next rows of a reader for one transaction.
func nextBatch(ctx context.Context, r *reader, most int) ([]row, error) {
	var batch []row
	for len(batch) < most && bytesOf(batch) < mostBytes {
		page, err := r.page(ctx, most-len(batch))
		if err != nil {
			return nil, err
		}
		if len(page) == 0 {
			break
		}
		batch = append(batch, page...)
	}
	return batch, nil
}

// add adds rows to the target in one transaction, if the last row of the target is still the one before the batch. If the target refuses
// a row, add adds only the rows before it, and the error names the row.
func (m *mover) add(ctx context.Context, t table, follows int64, batch []row) error {
	err := m.addTogether(ctx, t, follows, batch)
	if err == nil || len(batch) == 1 || !m.To.Store.RefusesRow(err) {
		return err
	}
	half := len(batch) / 2
	if err := m.add(ctx, t, follows, batch[:half]); err != nil {
		return err
	}
	return m.add(ctx, t, batch[half-1].id, batch[half:])
}

// addTogether adds all rows in one transaction, or none.
func (m *mover) addTogether(ctx context.Context, t table, follows int64, batch []row) error {
	items := listOf(batch)
	err := m.To.Store.Write(ctx, func(ctx context.Context, q db.Querier) error {
		if err := m.checkClosed(ctx, q); err != nil {
			return err
		}
		last, err := q.GetLastIDs(ctx)
		if err != nil {
			return err
		}
		if t.last(last) != follows {
			return errTwice
		}
		return addRows(ctx, q, t, items, batch)
	})
	if err != nil {
		return m.To.fault(fmt.Errorf("add %s %d to %d: %w", t.name, batch[0].id, batch[len(batch)-1].id, err))
	}
	return nil
}

// checkClosed returns an error if the target was opened: its jobs may run.
func (m *mover) checkClosed(ctx context.Context, q db.Querier) error {
	rows, err := q.ListMoves(ctx)
	if err != nil {
		return err
	}
	if len(rows) != 1 || rows[0].Direction != in || rows[0].Token != m.token {
		return errors.New("the queue was opened before the copy was complete")
	}
	return nil
}

func addRows(ctx context.Context, q db.Querier, t table, items string, batch []row) error {
	n, err := t.add(q, ctx, items)
	if err != nil {
		return err
	}
	if n != int64(len(batch)) {
		return fmt.Errorf("%d of %d rows were inserted", n, len(batch))
	}
	return nil
}

// copyNamed adds the rows of each named table in one transaction, unless an earlier call has added them.
func (m *mover) copyNamed(ctx context.Context) error {
	for _, t := range named() {
		rows, err := newReader(m.From, t, first).page(ctx, mostRows)
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			continue
		}
		err = m.To.Store.Write(ctx, func(ctx context.Context, q db.Querier) error {
			if err := m.checkClosed(ctx, q); err != nil {
				return err
			}
			if there, err := t.list(ctx, q, first, mostRows); err != nil || len(there) > 0 {
				return err
			}
			for batch := range slices.Chunk(rows, mostRows) {
				if err := addRows(ctx, q, t, listOf(batch), batch); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return m.To.fault(fmt.Errorf("add the rows of %s: %w", t.name, err))
		}
	}
	return nil
}

// listOf returns the rows as a JSON list.
func listOf(rows []row) string {
	list := make([]byte, 0, bytesOf(rows)+int64(len(rows))+2)
	list = append(list, '[')
	for i, row := range rows {
		if i > 0 {
			list = append(list, ',')
		}
		list = append(list, row.text...)
	}
	return string(append(list, ']'))
}
