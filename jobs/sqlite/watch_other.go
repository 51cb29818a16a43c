//go:build !linux

package sqlite

import (
	"context"
	"errors"
)

// watchEvents fails: only Linux reports writes without another descriptor on the database's files, whose close would
// drop SQLite's locks.
func (h *hub) watchEvents(context.Context, *dataVersion) error {
	return errors.ErrUnsupported
}
