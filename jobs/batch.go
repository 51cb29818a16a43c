package jobs

import (
	"fmt"

	"github.com/sqluice/sqluice/internal/queue/core"
)

// bulk is how many payloads, and bulkBytes how many bytes of them, go to the database in one statement.
const (
	bulk      = 1000
	bulkBytes = 4 << 20
)

// batch is the payloads of many jobs. payload may call marshalers of the application, so validate calls it once for each
// job, before the transaction, and keeps what it returned.
type batch struct {
	n       int
	payload func(i int) ([]byte, error)
	lists   []string // JSON lists of strings, each for one statement
}

// validate makes the lists of valid payloads. The error names a faulty one by its place.
func (b *batch) validate(e *enqueue) error {
	for i := 0; i < b.n; {
		list, next, err := b.list(i, e)
		if err != nil {
			return err
		}
		b.lists = append(b.lists, list)
		i = next
	}
	return nil
}

// list encodes and validates a statement's worth of payloads from the ith one on.
func (b *batch) list(i int, e *enqueue) (list string, next int, err error) {
	var out []byte
	for first := i; i < b.n && i-first < bulk && len(out) < bulkBytes; i++ {
		data, err := b.payload(i)
		if err != nil {
			return "", 0, fmt.Errorf("payload %d: %w", i, err)
		}
		if err := e.validate(data); err != nil {
			return "", 0, fmt.Errorf("payload %d: %w", i, err)
		}
		if i == first {
			// About as much for each of the others, and a byte for each of its quotes.
			out = append(make([]byte, 0, min(min(bulk, b.n-first)*(len(data)*5/4+3), bulkBytes)), '[')
		} else {
			out = append(out, ',')
		}
		out = core.AppendString(out, string(data))
	}
	return string(append(out, ']')), i, nil
}
