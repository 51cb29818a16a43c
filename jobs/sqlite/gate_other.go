//go:build !unix

package sqlite

import (
	"context"
	"os"
	"time"
)

// gate does nothing here: SQLite's own lock serialises writes, without order among the waiting ones.
type gate struct{ file *os.File }

func newGate(file *os.File, _ func() time.Time) *gate { return &gate{file: file} }

func (*gate) lock(context.Context) (unlock func(), err error) { return func() {}, nil }

func (g *gate) close() {
	if g != nil {
		_ = g.file.Close()
	}
}
