package outage

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// An outage is logged at its beginning, each half minute, and at its end; a second one likewise.
func TestOutage(t *testing.T) {
	var text bytes.Buffer
	o := New(slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	})))
	now := time.Unix(0, 0)
	o.now = func() time.Time { return now }
	o.Over("works")
	for _, seconds := range []int{70, 3} {
		for range seconds {
			o.Failed(slog.LevelError, "fails", "error", errors.New("away"))
			now = now.Add(time.Second)
		}
		o.Over("works")
		o.Over("works")
	}
	want := strings.Join([]string{
		`level=ERROR msg=fails error=away failures=1 since=0s`,
		`level=ERROR msg=fails error=away failures=31 since=30s`,
		`level=ERROR msg=fails error=away failures=61 since=1m0s`,
		`level=INFO msg=works after=1m10s failures=70`,
		`level=ERROR msg=fails error=away failures=1 since=0s`,
		`level=INFO msg=works after=3s failures=3`,
	}, "\n") + "\n"
	if have := text.String(); have != want {
		t.Errorf("the log is\n%s\nnot\n%s", have, want)
	}
}
