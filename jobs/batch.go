package jobs

import (
	"fmt"
	"iter"
	"math"

	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
)

// keepBytes is about the largest size of encoded payloads that validation keeps, so that they need not be encoded again. It keeps
// all results of marshalers: they may be the application's, which must not run in a transaction, and may return something else.
const keepBytes = 16 << 20

// batch encodes the payloads of many jobs when they are needed.
type batch struct {
	n       int
	payload func(i int) ([]byte, error)
	stored  func(payload []byte) (string, error) // returns the stored form of a payload
	kept    []engine.Payloads                    // the first payloads
	rest    int                                  // the first payload that is not in kept
}

// validate checks all payloads. Its error names a faulty one by its index.
func (b *batch) validate(e *enqueue) error {
	keep := keepBytes
	if e.payloads.marshaled {
		keep = math.MaxInt
	}
	for i := 0; i < b.n; {
		list, next, err := b.list(i, func(i int, data []byte) error {
			if err := e.validate(data); err != nil {
				return fmt.Errorf("payload %d: %w", i, err)
			}
			return nil
		})
		if err != nil {
			return err
		}
		if keep -= len(list); keep >= 0 {
			b.kept, b.rest = append(b.kept, engine.Payloads{List: list, Count: next - i}), next
		}
		i = next
	}
	return nil
}

// lists returns the payloads, divided into statements.
func (b *batch) lists() iter.Seq2[engine.Payloads, error] {
	return func(yield func(engine.Payloads, error) bool) {
		for _, list := range b.kept {
			if !yield(list, nil) {
				return
			}
		}
		for i := b.rest; i < b.n; {
			list, next, err := b.list(i, func(int, []byte) error { return nil })
			if !yield(engine.Payloads{List: list, Count: next - i}, err) || err != nil {
				return
			}
			i = next
		}
	}
}

// list encodes the payloads for a statement from the ith one on, each of which passes a check.
func (b *batch) list(i int, check func(i int, data []byte) error) (list string, next int, err error) {
	var out []byte
	for first := i; i < b.n && i-first < engine.PayloadsMost && len(out) < engine.PayloadsMostSize; i++ {
		data, err := b.payload(i)
		if err != nil {
			return "", 0, fmt.Errorf("payload %d: %w", i, err)
		}
		if err := check(i, data); err != nil {
			return "", 0, err
		}
		stored, err := b.stored(data)
		if err != nil {
			return "", 0, fmt.Errorf("payload %d: %w", i, err)
		}
		if i == first {
			// An estimate: each of the others is as large, with a quarter for its quotes.
			size := int64(min(engine.PayloadsMost, b.n-first)) * (int64(len(stored))*5/4 + 3)
			out = append(make([]byte, 0, min(size, engine.PayloadsMostSize)), '[')
		} else {
			out = append(out, ',')
		}
		out = core.AppendString(out, stored)
	}
	return string(append(out, ']')), i, nil
}
