package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/sqluice/sqluice/cmd/sqluice/internal/human"
	"github.com/sqluice/sqluice/cmd/sqluice/internal/top"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// With thousands of queues, queues and top show the busiest ones in a bounded number of lines, and a summary of the others.
func TestTablesOfManyQueues(t *testing.T) {
	const n = 2000
	c := newCLI(t)
	store := testdb.SQLite(t)
	c.db = store.Path()
	client := jobs.New(store)
	name := func(i int) string { return fmt.Sprintf("queue-%04d", i) }
	var items []jobs.Item
	for i := range n {
		items = append(items, jobs.NewItem("k", json.RawMessage("1"), jobs.Queue(name(i))))
	}
	busy := []int{7, n / 2, n - 1}
	for _, i := range busy {
		items = append(items, jobs.NewItem("k", json.RawMessage("1"), jobs.Queue(name(i))), jobs.NewItem("k", json.RawMessage("1"), jobs.Queue(name(i))))
	}
	if _, err := client.EnqueueItems(t.Context(), items); err != nil {
		t.Fatal(err)
	}
	for i := range human.MaxRows + 50 {
		if _, err := client.PauseKind(t.Context(), name(i), "k"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := client.PauseQueue(t.Context(), name(n-2)); err != nil {
		t.Fatal(err)
	}
	check := func(what, out string, lines int, texts ...string) {
		t.Helper()
		if have := strings.Count(out, "\n"); have > lines {
			t.Errorf("%s prints %d lines", what, have)
		}
		for _, i := range busy {
			if !regexp.MustCompile(`(?m)^ *` + name(i) + ` `).MatchString(out) {
				t.Errorf("%s does not show %s, which has most jobs", what, name(i))
			}
		}
		for _, text := range texts {
			if !strings.Contains(out, text) {
				t.Errorf("%s does not print %q:\n%s", what, text, out)
			}
		}
	}
	check("queues", c.ok("queues"), 2*human.MaxRows+5,
		"\nand 1900 more queues: 0 scheduled, 1900 pending, 0 running; 1 paused (--all shows them)\n",
		"\nand 50 more paused kinds (--all shows them)\n")
	check("top", c.ok("top", "--once"), human.MaxRows+25,
		"\n  and 1900 more queues: 1900 pending, 0 running, 0 failed; 1 paused (`sqluice queues --all` lists them)\n")

	all := c.ok("queues", "--all")
	if lines := strings.Count(all, "\n"); lines != n+1+human.MaxRows+50+2 || strings.Contains(all, " more ") || !strings.Contains(all, name(n-2)) {
		t.Errorf("queues --all prints %d lines", lines)
	}
	if list := get[[]inspect.QueueInfo](c, "queues"); len(list) != n {
		t.Errorf("queues --json has %d queues", len(list))
	}
	if frame := get[top.Frame](c, "top"); len(frame.Queues) != n {
		t.Errorf("top --json has %d queues", len(frame.Queues))
	}
}
