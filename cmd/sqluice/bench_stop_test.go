//go:build unix

package main

import (
	"slices"
	"strings"
	"syscall"
	"testing"
)

func benchStopTests() tests {
	if testing.Short() {
		return nil
	}
	return tests{"BenchRemovesItsQueueWhenItIsStopped": benchRemovesItsQueueWhenItIsStopped}
}

func benchRemovesItsQueueWhenItIsStopped(t *testing.T, c *cli) {
	c.enqueue("k")
	there := c.surroundings()
	for measure, args := range map[string][]string{
		// Each signal arrives after another measurement, while a long one runs.
		"flush to disk":     {"--jobs", "10000000"},
		"insert one by one": {"--jobs", "10000000"},
		"bulk insert":       {"--jobs", "5000", "--processes", "3"},
	} {
		if measure == "flush to disk" && strings.HasPrefix(c.db, "postgres") {
			measure = "round trip"
		}
		p := c.start(append([]string{"bench"}, args...)...)
		eventually(t, measure+" is over", func() bool { return strings.Contains(p.out.String(), measure) })
		p.signal(syscall.SIGINT)
		p.wantExit(exitFailure)
		if text := p.errs.String(); strings.Count(text, "stopped by signal: interrupt") != 1 || strings.Contains(text, "killed") {
			t.Errorf("after %s standard error is %q", measure, text)
		}
		if left := c.surroundings(); !slices.Equal(left, there) {
			t.Errorf("after %s beside the queue are %q, %q before", measure, left, there)
		}
	}
}
