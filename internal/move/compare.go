package move

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
)

// Sum holds the number and the SHA-256 of a table's rows on one side. The hash covers each row as a JSON list of
// its columns and a line break, in the order of their ids or names.
type Sum struct {
	Role   string // source or target
	Table  string
	Rows   int64
	SHA256 string
}

// compare reads both sides again, and returns ErrDiffer if they differ. It returns the sums also with that error.
func (m *mover) compare(ctx context.Context) ([]Sum, error) {
	last, err := m.From.lastIDs(ctx)
	if err != nil {
		return nil, err
	}
	var sums []Sum
	var errs []error
	for _, t := range allTables() {
		from, to, err := m.compareTable(ctx, t, t.last(last))
		if err != nil && !errors.Is(err, ErrDiffer) {
			return nil, err
		}
		sums = append(sums, from, to)
		errs = append(errs, err)
	}
	return sums, errors.Join(errs...)
}

func (m *mover) compareTable(ctx context.Context, t table, end int64) (from, to Sum, err error) {
	a, b := newSide(m.From, t), newSide(m.To, t)
	for {
		if a.count%mostInBatch == 0 {
			m.Progress(Progress{Doing: "comparing " + t.name, Rows: a.count, Percent: percent(a.row.id, end)})
		}
		if err := a.next(ctx); err != nil {
			return from, to, err
		}
		if err := b.next(ctx); err != nil {
			return from, to, err
		}
		if a.ended && b.ended {
			return a.sum(), b.sum(), err
		}
		if err == nil && (a.ended != b.ended || !bytes.Equal(a.row.text, b.row.text)) {
			err = fmt.Errorf("%w: %s", ErrDiffer, firstDifference(t.name, a, b))
		}
	}
}

// firstDifference returns the first row that differs between the sides, as text for an error.
func firstDifference(name string, a, b *summing) string {
	switch {
	case b.ended || !a.ended && a.row.id < b.row.id:
		return fmt.Sprintf("row %d of %s is missing in the target", a.row.id, name)
	case a.ended || b.row.id < a.row.id:
		return fmt.Sprintf("row %d of %s is only in the target", b.row.id, name)
	default:
		return fmt.Sprintf("row %d of %s differs", a.row.id, name)
	}
}

// summing computes the Sum of a table of one side.
type summing struct {
	cursor cursor
	hash   hash.Hash
	count  int64
	row    row
	ended  bool
}

func newSide(side Side, t table) *summing {
	return &summing{cursor: cursor{reader: newReader(side, t, first)}, hash: sha256.New()}
}

func (s *summing) next(ctx context.Context) error {
	r, ok, err := s.cursor.next(ctx)
	if err != nil {
		return err
	}
	if s.ended = !ok; s.ended {
		return nil
	}
	s.row = r
	s.count++
	s.hash.Write(r.text) // a hash never fails
	s.hash.Write([]byte("\n"))
	return nil
}

func (s *summing) sum() Sum {
	return Sum{
		Role: s.cursor.reader.side.role, Table: s.cursor.reader.table.name, Rows: s.count,
		SHA256: hex.EncodeToString(s.hash.Sum(nil)),
	}
}
