package main

import (
	"testing"
	"time"
)

func TestParseDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"90s": 90 * time.Second, "1h30m": 90 * time.Minute, "7d": 168 * time.Hour, "1d12h": 36 * time.Hour, "0": 0,
		"0d": 0, "-1m": -time.Minute, "-1d": -24 * time.Hour,
	} {
		if got, err := parseDuration(text); err != nil || got != want {
			t.Errorf("parseDuration(%q) = %s, %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "d", "5", "1.5d", "1d-1h", "-1d1h", "1h1d", "106752d", "106751d24h", "9223372036854775807d", "x"} {
		if got, err := parseDuration(text); err == nil {
			t.Errorf("parseDuration(%q) = %s, want an error", text, got)
		}
	}
}
