//go:build !unix

package sqlite

// gate does nothing here: SQLite's own lock keeps writes apart, without order among those who wait.
type gate struct{}

func newGate(string) (*gate, error) { return &gate{}, nil }

func (*gate) lock() (unlock func()) { return func() {} }

func (*gate) close() {}
