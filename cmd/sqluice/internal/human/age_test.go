package human

import (
	"testing"
	"time"
)

func TestAge(t *testing.T) {
	now := time.Unix(1e9, 0)
	for d, want := range map[time.Duration]string{
		0: "0s ago", 59 * time.Second: "59s ago", 61 * time.Second: "1m ago", 47 * time.Hour: "47h ago", 49 * time.Hour: "2d ago",
		-90 * time.Minute: "in 1h",
	} {
		if got := Age(now, now.Add(-d)); got != want {
			t.Errorf("age of %s = %q, want %q", d, got, want)
		}
	}
	if got := Age(now, time.Time{}); got != "-" {
		t.Errorf("age of no time = %q", got)
	}
}
