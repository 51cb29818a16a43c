package move

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/engine"
)

// ErrOwnColumns is the error for columns of an owner whose values a move does not copy. The error names them.
var ErrOwnColumns = errors.New("columns that you have added are not copied")

// ownColumns holds the columns that the owners of the sides have added.
type ownColumns struct {
	copied    []engine.Column // columns that both sides have, of tables with ids
	notCopied []string        // the other columns of the source, as table.column
}

// checkColumns returns the columns of the owners. It returns ErrOwnColumns if some are not copied, unless the caller drops their values.
func (m *mover) checkColumns(ctx context.Context) error {
	source, err := m.From.ownColumns(ctx)
	if err != nil {
		return err
	}
	target, err := m.To.ownColumns(ctx)
	if err != nil {
		return err
	}
	copied := func(c engine.Column) bool {
		return slices.Contains(source, c) && slices.Contains(target, c) && slices.ContainsFunc(tables(), func(t table) bool { return t.name == c.Table })
	}
	var found []string
	for _, side := range []struct {
		Side
		own []engine.Column
	}{{m.From, source}, {m.To, target}} {
		var notCopied []string
		for _, c := range side.own {
			if !copied(c) {
				notCopied = append(notCopied, c.String())
			}
		}
		if len(notCopied) > 0 {
			found = append(found, fmt.Sprintf("%s %s: %s", side.role, side.Name, strings.Join(notCopied, ", ")))
		}
		if side.role == m.From.role {
			m.own.notCopied = notCopied
		}
	}
	slices.Sort(m.own.notCopied)
	if len(found) > 0 && !m.DropColumns {
		return fmt.Errorf("%w: %s", ErrOwnColumns, strings.Join(found, "; "))
	}
	m.own.copied = slices.DeleteFunc(source, func(c engine.Column) bool { return !copied(c) })
	return nil
}

// ownColumns returns the columns of the copied tables that this program does not know.
func (s Side) ownColumns(ctx context.Context) (own []engine.Column, err error) {
	columns, err := s.Store.Migrations().Columns(ctx)
	if err != nil {
		return nil, s.fault(err)
	}
	for _, t := range allTables() {
		for _, c := range columns {
			if c.Table == t.name && !t.has(c.Name) {
				own = append(own, c)
			}
		}
	}
	return own, nil
}

// has reports whether the generated struct of a table has a column. Its field has the name of the column without underscores.
func (t table) has(column string) bool {
	name := strings.ReplaceAll(column, "_", "")
	for field := range t.row.Fields() {
		if strings.EqualFold(field.Name, name) {
			return true
		}
	}
	return false
}

// eachPage reads a column of a side page by page, and calls fn with the values of each page.
func (s Side) eachPage(ctx context.Context, c engine.Column, fn func([]engine.ColumnValue) error) error {
	for after := int64(first); ; {
		values, err := s.Store.Migrations().ReadColumn(ctx, c, after, mostRows)
		if err != nil {
			return s.fault(fmt.Errorf("read %s after row %d: %w", c, max(after, 0), err))
		}
		if len(values) == 0 {
			return nil
		}
		after = values[len(values)-1].ID
		if err := fn(values); err != nil {
			return err
		}
	}
}

// copyColumns copies the values of the owners' columns to the rows of the target. It may run again.
func (m *mover) copyColumns(ctx context.Context) error {
	for _, c := range m.own.copied {
		var done int64
		err := m.From.eachPage(ctx, c, func(values []engine.ColumnValue) error {
			m.Progress(Progress{Doing: "copying " + c.String(), Rows: done, Percent: -1})
			done += int64(len(values))
			if err := m.To.Store.Read(ctx, func(ctx context.Context, q db.Querier) error { return m.checkClosed(ctx, q) }); err != nil {
				return m.To.fault(err)
			}
			if err := m.To.Store.Migrations().WriteColumn(ctx, c, values); err != nil {
				return m.To.fault(fmt.Errorf("write %s of rows %d to %d: %w", c, values[0].ID, values[len(values)-1].ID, err))
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// compareColumns returns ErrDiffer with the first row that differs, for each of the owners' columns that differ.
func (m *mover) compareColumns(ctx context.Context) error {
	var errs []error
	for _, c := range m.own.copied {
		after := int64(first)
		err := m.From.eachPage(ctx, c, func(values []engine.ColumnValue) error {
			there, err := m.To.Store.Migrations().ReadColumn(ctx, c, after, int64(len(values)))
			if err != nil {
				return m.To.fault(fmt.Errorf("read %s after row %d: %w", c, max(after, 0), err))
			}
			after = values[len(values)-1].ID
			for i, v := range values {
				if i >= len(there) || there[i].ID != v.ID || !sameValue(there[i].Value, v.Value) {
					return fmt.Errorf("%w: %s of row %d differs", ErrDiffer, c, v.ID)
				}
			}
			return nil
		})
		if err != nil && !errors.Is(err, ErrDiffer) {
			return err
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// sameValue reports whether the JSON of two engines has the same value. Numbers may have different notations, and SQLite has 1 and 0 for
// true and false.
func sameValue(a, b json.RawMessage) bool {
	if bytes.Equal(a, b) {
		return true
	}
	x, xNull := textOf(a)
	y, yNull := textOf(b)
	if xNull || yNull {
		return xNull == yNull
	}
	if x == y {
		return true
	}
	n, err := strconv.ParseFloat(x, 64)
	if err != nil {
		return false
	}
	other, err := strconv.ParseFloat(y, 64)
	return err == nil && n == other
}

// textOf returns a JSON value as text, and whether it is null.
func textOf(value json.RawMessage) (text string, null bool) {
	switch string(value) {
	case "null":
		return "", true
	case "true":
		return "1", false
	case "false":
		return "0", false
	}
	if json.Unmarshal(value, &text) != nil {
		text = string(value)
	}
	var compact bytes.Buffer // the compact form of a list or an object, which an engine may keep as text
	if !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "[") || json.Compact(&compact, []byte(text)) != nil {
		return text, false
	}
	return compact.String(), false
}
