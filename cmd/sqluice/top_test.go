package main

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/sqluice/sqluice/cmd/sqluice/internal/address"
	"github.com/sqluice/sqluice/cmd/sqluice/internal/top"
	"github.com/sqluice/sqluice/jobs"
)

func topTests() tests { return tests{"Top": topOnce} }

// topOnce checks top as scripts use it: standard output is not a terminal.
func topOnce(t *testing.T, c *cli) {
	c.ok("up")
	if out := c.ok("top"); !strings.Contains(out, "no queues") || !strings.Contains(out, "no workers") || !strings.Contains(out, "no failed jobs") {
		t.Errorf("of nothing top prints\n%s", out)
	}
	long := strings.Repeat("long", 40)
	c.enqueue("bad", "--max-attempts", "1")
	c.enqueue("k", "--queue", long)
	c.ok("work", "--drain", "--exec", execFlag(t, "bad", "fail", "65", "broken\x1b[2J"+long, "1"))
	c.ok("queues", "pause", long)
	for _, args := range [][]string{{"top"}, {"top", "--once", "--read-only", "--interval", "200ms"}} {
		out := c.ok(args...)
		for _, text := range []string{c.shown(), "1 pending", "1 failed", long + "        1", "last hour 0 done", "ran p50", "paused", `broken\x1b[2J` + long, "bad"} {
			if !strings.Contains(out, text) {
				t.Errorf("%q lacks %q:\n%s", args, text, out)
			}
		}
		if strings.Contains(out, "\x1b") {
			t.Errorf("%q prints escapes: %q", args, out)
		}
	}
	frame := get[top.Frame](c, "top")
	if frame.Jobs[jobs.StatusPending] != 1 || len(frame.Queues) != 2 || frame.Queues[1].Name != long || frame.Queues[1].Oldest.IsZero() ||
		frame.Queues[0].Failed != 1 || frame.History.Total.Failed != 1 || frame.Jobs[jobs.StatusFailed] != 1 || len(frame.Failures) != 1 || frame.At.IsZero() {
		t.Errorf("the frame is %+v", frame)
	}
	for _, args := range [][]string{{"--interval", "199ms"}, {"--interval", "2h"}, {"--interval", "soon"}, {"now"}} {
		c.fails(exitUsage, nil, append([]string{"top"}, args...)...)
	}
}

func TestTopOfNoDatabase(t *testing.T) {
	c := newCLI(t)
	c.fails(exitFailure, []string{"no such database", "sqluice up"}, "top")
	if exists(c.db) {
		t.Error("a database was made")
	}
	c.ok("up")
	c.ok("down")
	c.fails(exitFailure, []string{"schema", "sqluice up"}, "top")
}

// topGoesOn checks that a source reads a database again after a time without it.
func topGoesOn(t *testing.T, c *cli, leave, comeBack func()) {
	d, err := address.Parse(c.db)
	if err != nil {
		t.Fatal(err)
	}
	source := top.NewSource(func(ctx context.Context) (jobs.Store, error) { return openDatabase(ctx, d, nil) })
	look := func() error {
		_, err := source.Read(t.Context())
		return err
	}
	if err := look(); err != nil {
		t.Fatal(err)
	}
	leave()
	for range 3 {
		if look() == nil {
			t.Fatal("there is a frame of a database that is away")
		}
	}
	if _, err := source.Change(t.Context(), "default", true); err == nil {
		t.Fatal("a queue is paused in a database that is away")
	}
	comeBack()
	if err := look(); err != nil {
		t.Fatalf("the database is back: %v", err)
	}
	if changed, err := source.Change(t.Context(), "default", true); err != nil || !changed {
		t.Errorf("pausing a queue: %t, %v", changed, err)
	}
	if changed, err := source.Change(t.Context(), "default", false); err != nil || !changed {
		t.Errorf("resuming it: %t, %v", changed, err)
	}
	if err := source.Close(); err != nil {
		t.Error(err)
	}
	if look() == nil {
		t.Error("a source that is closed still looks")
	}
}

func TestTopGoesOnWhenAFileIsReplaced(t *testing.T) {
	c, other := newCLI(t), newCLI(t)
	c.ok("up")
	other.ok("up")
	move := func(from, to string) func() {
		return func() {
			if err := os.Rename(from, to); err != nil {
				t.Fatal(err)
			}
		}
	}
	topGoesOn(t, c, move(c.db, c.db+".away"), move(other.db, c.db))
}
