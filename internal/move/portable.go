package move

import (
	"context"
	"fmt"
)

// largestID is the largest id that a move copies, half of the largest possible one: the target assigns its ids above it.
const largestID = 1 << 52

// checkRows returns an error with the first row of the source that the target cannot have. Such a row comes from another program than the
// library. It reads all rows, so that a move that cannot end does not close the queue.
func (m *mover) checkRows(ctx context.Context) error {
	last, err := m.From.lastIDs(ctx)
	if err != nil {
		return err
	}
	for _, t := range allTables() {
		rows := cursor{reader: newReader(m.From, t, first)}
		for n := int64(0); ; n++ {
			row, ok, err := rows.next(ctx)
			if err != nil {
				return err
			}
			if !ok {
				break
			}
			if row.id < 1 || row.id > largestID {
				return m.From.fault(fmt.Errorf("row %d of %s has an id that another program gave it: it must be from 1 to %d, so delete the row", row.id, t.name, int64(largestID)))
			}
			if n%mostInBatch == 0 {
				m.Progress(Progress{Doing: "looking at " + t.name, Rows: n, Percent: percent(row.id, t.last(last))})
			}
		}
	}
	return nil
}
