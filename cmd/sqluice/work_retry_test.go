package main

import (
	"testing"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

func TestRetryValue(t *testing.T) {
	for text, want := range map[string][]time.Duration{
		"30s":      {30 * time.Second, 30 * time.Second},
		"1s,5m":    {time.Second, 5 * time.Minute, 5 * time.Minute},
		"0s,1h":    {0, time.Hour},
		"10s..15s": {10 * time.Second, 15 * time.Second, 15 * time.Second},
	} {
		var v retryValue
		if err := v.Set(text); err != nil {
			t.Fatal(err)
		}
		for i, want := range want {
			if have := v.delay(jobs.Job{Attempt: i + 1}, nil); have < want*9/10 || have > want*11/10 {
				t.Errorf("%s: after %d failed attempts the delay is %s, not %s", text, i+1, have, want)
			}
		}
	}
	for _, text := range []string{"", "x", "1s,", "-1s", "5s..1s", "1s..", "..1s", "1s..2s..3s", "5"} {
		if err := (&retryValue{}).Set(text); err == nil {
			t.Errorf("%q is taken for delays", text)
		}
	}
}

// A program that fails comes back when --retry says.
func TestWorkRetries(t *testing.T) {
	c := newCLI(t)
	id := c.enqueue("k", "--max-attempts", "3")
	c.ok("work", "--exec", "k=false", "--retry", "0s", "--drain")
	if job := c.show(id); job.Status != jobs.StatusFailed || job.Attempt != 3 {
		t.Errorf("the job is %s after %d attempts", job.Status, job.Attempt)
	}
}
