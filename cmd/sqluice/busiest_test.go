package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

func TestBusiest(t *testing.T) {
	list := []int64{5, 1, 9, 5, 7}
	for most, want := range map[int][2][]int64{
		0: {nil, list}, 1: {{9}, {5, 1, 5, 7}}, 3: {{5, 9, 7}, {1, 5}}, 5: {list, nil}, 9: {list, nil},
	} {
		shown, rest := busiest(list, most, func(n int64) int64 { return n })
		if !slices.Equal(shown, want[0]) || !slices.Equal(rest, want[1]) {
			t.Errorf("of %v the %d busiest are %v, and %v are left", list, most, shown, rest)
		}
	}
}

// With thousands of queues, queues and top show the busiest of them in a bounded number of lines, and say what they leave out.
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
	for i := range maxRows + 50 {
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
	check("queues", c.ok("queues"), 2*maxRows+5,
		"\nand 1900 more queues: 0 scheduled, 1900 pending, 0 running; 1 paused (--all shows them)\n",
		"\nand 50 more paused kinds (--all shows them)\n")
	check("top", c.ok("top", "--once"), maxRows+25,
		"\n  and 1900 more queues: 1900 pending, 0 running, 0 failed; 1 paused (`sqluice queues --all` lists them)\n")

	all := c.ok("queues", "--all")
	if lines := strings.Count(all, "\n"); lines != n+1+maxRows+50+2 || strings.Contains(all, " more ") || !strings.Contains(all, name(n-2)) {
		t.Errorf("queues --all prints %d lines", lines)
	}
	if list := get[[]inspect.QueueInfo](c, "queues"); len(list) != n {
		t.Errorf("queues --json has %d queues", len(list))
	}
	if frame := get[topFrame](c, "top"); len(frame.Queues) != n {
		t.Errorf("top --json has %d queues", len(frame.Queues))
	}
}

// With many workers, top shows the busiest of them.
func TestTopOfManyWorkers(t *testing.T) {
	frame := topFrame{}
	for i := range maxRows + 30 {
		frame.Workers = append(frame.Workers, inspect.WorkerInfo{Name: fmt.Sprintf("worker-%04d", i)})
	}
	frame.Workers[maxRows+29].Running = 1
	view := &topView{frame: frame, paint: unpainted}
	view.bound()
	out := strings.Join(view.lines(0, 0), "\n")
	if strings.Count(out, "worker-") != maxRows || !strings.Contains(out, fmt.Sprintf("worker-%04d", maxRows+29)) ||
		!strings.Contains(out, "\n  and 30 more workers: 0 running (`sqluice workers` lists them)\n") {
		t.Errorf("of many workers top shows\n%s", out)
	}
}
