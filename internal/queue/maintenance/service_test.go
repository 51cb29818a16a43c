package maintenance

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
)

// faulty is a service that panics at first.
type faulty struct{ runs int }

func (*faulty) Name() string { return "faulty" }

func (c *faulty) Run(ctx context.Context) {
	if c.runs++; c.runs < 3 {
		panic("oh no")
	}
	<-ctx.Done()
}

// A service that panics begins again, and ends with its context.
func TestServiceThatPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var logged bytes.Buffer
		ctx, cancel := context.WithTimeout(t.Context(), 10*restartAfter)
		defer cancel()
		service := &faulty{}
		Serve(ctx, service, slog.New(slog.NewTextHandler(&logged, nil)))
		if service.runs != 3 || ctx.Err() == nil {
			t.Errorf("it ran %d times, and its context ended with %v", service.runs, ctx.Err())
		}
		if text := logged.String(); strings.Count(text, "service=faulty") != 2 || !strings.Contains(text, "oh no") {
			t.Errorf("the log is\n%s", text)
		}
	})
}
