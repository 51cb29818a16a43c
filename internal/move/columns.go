package move

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrOwnColumns is returned when a side has columns of its owner, whose values a move does not copy. The error names them.
var ErrOwnColumns = errors.New("columns that you have added are not copied")

// checkColumns returns ErrOwnColumns when a side has columns of its owner, unless the caller lets their values go.
func (m *mover) checkColumns(ctx context.Context) error {
	var found []string
	for _, side := range []Side{m.From, m.To} {
		own, err := side.ownColumns(ctx)
		if err != nil {
			return err
		}
		if len(own) > 0 {
			found = append(found, fmt.Sprintf("%s %s: %s", side.role, side.Name, strings.Join(own, ", ")))
			m.left = append(m.left, own...)
		}
	}
	slices.Sort(m.left)
	m.left = slices.Compact(m.left)
	if len(found) > 0 && !m.DropColumns {
		return fmt.Errorf("%w: %s", ErrOwnColumns, strings.Join(found, "; "))
	}
	return nil
}

// ownColumns returns the columns of the copied tables that no row of this program has, as table.column.
func (s Side) ownColumns(ctx context.Context) ([]string, error) {
	columns, err := s.Store.Columns(ctx)
	if err != nil {
		return nil, s.fault(err)
	}
	var own []string
	for _, t := range allTables() {
		for _, c := range columns {
			if c.Table == t.name && !t.has(c.Name) {
				own = append(own, c.Table+"."+c.Name)
			}
		}
	}
	return own, nil
}

// has reports whether the rows of a table have a column. A field of a generated struct has the column's name without underscores.
func (t table) has(column string) bool {
	name := strings.ReplaceAll(column, "_", "")
	for field := range t.row.Fields() {
		if strings.EqualFold(field.Name, name) {
			return true
		}
	}
	return false
}
