package refusal

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// The first refusal is logged at once. Later ones are logged at growing intervals, with their number.
func TestTell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text bytes.Buffer
		n := &Notes{Log: slog.New(slog.NewTextHandler(&text, nil))}
		for i := range 600 {
			n.Report("claim", fmt.Sprintf("job %d", i), errRefused)
			time.Sleep(100 * time.Millisecond)
		}
		n.Report("prune", "job 7", errRefused)
		lines := strings.Count(text.String(), "the database refuses a row")
		if lines != 7 || !strings.Contains(text.String(), `rows="job 1, job 2, job 3, job 4, job 5" refusals=10`) {
			t.Errorf("%d lines:\n%s", lines, text.String())
		}
	})
}

func TestAgain(t *testing.T) {
	for times, want := range map[int]time.Duration{1: time.Second, 2: 2 * time.Second, 5: 16 * time.Second, 100: maxDelay} {
		if have := Delay(times); have != want {
			t.Errorf("after %d times it is tried again in %s, not %s", times, have, want)
		}
	}
}
