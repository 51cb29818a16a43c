package prune

import (
	"testing"
	"time"
)

func TestKeepTextIsAsPeopleWriteIt(t *testing.T) {
	for keep, want := range map[time.Duration]string{
		Forever: "forever", time.Second: "1s", 90 * time.Second: "1m30s", 70 * time.Second: "1m10s", 10 * time.Minute: "10m",
		time.Hour: "1h", 90 * time.Minute: "1h30m", 2*time.Hour + 30*time.Second: "2h30s", 10 * time.Hour: "10h",
		24 * time.Hour: "1d", 36 * time.Hour: "1d12h", 90 * 24 * time.Hour: "90d", 25*time.Hour + time.Microsecond: "1d1h0.000001s",
	} {
		if got := KeepText(keep); got != want {
			t.Errorf("%s is %q, not %q", keep, got, want)
		}
	}
}
