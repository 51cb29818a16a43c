package runner

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/sqluice/sqluice/internal/queue/engine"
)

// blind is a store in which a further source has jobs, and whose reads fail.
type blind struct{ endless }

func (*blind) Read(ctx context.Context, _ engine.Func) error {
	return errors.Join(ctx.Err(), errors.New("no read"))
}

type fullSource struct{ Source }

func (fullSource) MayHave(engine.Next) bool { return true }

// A look that the end of a run interrupts is no failure of the database; any other is.
func TestAStopInterruptsTheLook(t *testing.T) {
	for _, stops := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			l := endlessLoop(t, &blind{}, 1, func() {})
			l.env.writing, l.env.sources = t.Context(), []Source{fullSource{}}
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			if stops {
				stop()
			}
			p := l.cycleOf(2).turn.plan
			if err := l.commit(ctx, p, false); err != nil {
				t.Fatal(err)
			}
			if failed := l.trouble.Failures() > 0; failed == stops {
				t.Errorf("the run stops: %v, and its look has failed: %v", stops, failed)
			}
		})
	}
}
