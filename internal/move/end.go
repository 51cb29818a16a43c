package move

import (
	"context"
	"errors"
	"fmt"

	"github.com/sqluice/sqluice/db"
)

// errOpened is the error for a source that was opened: it may have jobs that the target lacks.
var errOpened = errors.New("the queue was opened meanwhile, or the move ended")

// finish marks the source, opens the target and then, for a copy, the source. With this order a crash neither loses a job nor copies one
// twice.
func (m *mover) finish(ctx context.Context) error {
	mark := markMoved
	if m.KeepOpen {
		mark = markCopied
	}
	ended := db.CloseQueueParams{Direction: out, Token: m.token + mark, Peer: m.To.Name}
	n, err := m.From.mark(ctx, m.token+m.mark, ended, nil)
	if err != nil {
		return err
	}
	if n == 0 {
		return m.From.fault(errOpened)
	}
	if _, err := m.To.open(ctx, m.token); err != nil {
		return err
	}
	if m.KeepOpen {
		_, err = m.From.open(ctx, m.token+mark)
	}
	return err
}

// repeatFinish completes a move that has ended before, perhaps without its last step.
func (m *mover) repeatFinish(ctx context.Context, s state) (Report, error) {
	report := Report{SourceOpen: m.KeepOpen, Since: s.since}
	if !m.KeepOpen {
		return report, nil
	}
	if s.mark != markCopied {
		return report, m.From.fault(fmt.Errorf("%w: it was moved to %s, not copied; reopen it if its jobs are to run here too", ErrElsewhere, m.To.Name))
	}
	_, err := m.From.open(ctx, s.token+s.mark)
	return report, err
}
