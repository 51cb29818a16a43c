package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/sqluice/sqluice/cmd/sqluice/internal/address"
	"github.com/sqluice/sqluice/cmd/sqluice/internal/bench"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// benchLatencyJobs is the number of jobs whose latency bench measures.
const benchLatencyJobs = 200

func benchTests() tests {
	if testing.Short() {
		return nil // bench is slow under the race detector
	}
	return tests{
		"BenchLeavesTheJobsAlone": benchLeavesTheJobsAlone,
		"BenchBySeveralProcesses": benchBySeveralProcesses,
	}
}

// surroundings returns the files in the folder of the queue, or the schemas of bench in its database.
func (c *cli) surroundings() []string {
	c.t.Helper()
	d, err := address.Parse(c.db)
	if err != nil {
		c.t.Fatal(err)
	}
	if d.Postgres() {
		rows, err := connect(c.t, c.db).Query(c.t.Context(), statements(c.t, "list_schemas.sql"))
		if err != nil {
			c.t.Fatal(err)
		}
		names, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			c.t.Fatal(err)
		}
		return names
	}
	var names []string
	entries, err := os.ReadDir(filepath.Dir(d.Path))
	if err != nil {
		c.t.Fatal(err)
	}
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// lines decodes the output of bench --json, by workload.
func (c *cli) lines(out string) map[string]bench.Line {
	c.t.Helper()
	list := map[string]bench.Line{}
	for line := range strings.Lines(out) {
		var l bench.Line
		decoder := json.NewDecoder(strings.NewReader(line))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&l); err != nil {
			c.t.Fatalf("%v in %q", err, line)
		}
		if !strings.HasPrefix(line, `{"system":"sqluice",`) {
			c.t.Errorf("the line begins otherwise: %s", line)
		}
		list[l.Workload] = l
	}
	return list
}

func benchLeavesTheJobsAlone(t *testing.T, c *cli) {
	id := c.enqueue("drain", "--queue", jobs.DefaultQueue) // as the bench calls its own
	before, there := c.show(id), c.surroundings()
	const n = 300
	list := c.lines(c.ok("bench", "--jobs", "300", "--concurrency", "20", "--payload", "1000", "--json"))
	for workload, want := range map[string]int{
		"insert one by one": n, "insert by 64 callers": n, "bulk insert": n, "drain": n, "latency, same process": benchLatencyJobs,
	} {
		// On a slow disk the inserts end with their time.
		l, ok := list[workload]
		slow := l.Seconds >= 5 && strings.HasPrefix(workload, "insert")
		if !ok || l.N != want && !slow || l.Errors != 0 || l.Duplicates != 0 || l.Round != 1 || l.Processes != 1 || l.Seconds <= 0 {
			t.Errorf("%s: %+v", workload, l)
		}
		if waits := strings.HasPrefix(workload, "latency"); (l.JobsPerSecond == 0) != waits || waits && (l.P50 <= 0 || l.P50 > l.P99 || l.P999 != 0) {
			t.Errorf("%s: %+v", workload, l)
		}
	}
	if list["drain"].Concurrency != 20 || list["insert by 64 callers"].Concurrency != 64 {
		t.Errorf("the lines are %+v", list)
	}
	if after := c.show(id); after.Status != jobs.StatusPending || !after.UpdatedAt.Equal(before.UpdatedAt) {
		t.Errorf("the user's job is %+v, %+v before", after, before)
	}
	if stats := get[inspect.Stats](c, "stats"); stats.Jobs[jobs.StatusPending] != 1 || stats.Jobs[jobs.StatusDone] != 0 {
		t.Errorf("the user's queue is %+v", stats)
	}
	if left := c.surroundings(); !slices.Equal(left, there) {
		t.Errorf("beside the queue are %q, %q before", left, there)
	}
}

func TestBenchPrintsForPeople(t *testing.T) {
	c := newCLI(t) // there need be no queue yet
	out := c.ok("bench", "--jobs", "100")
	for _, text := range []string{c.shown(), "insert one by one", "drain", "/s", "p99 ", "100 jobs of 100 bytes"} {
		if !strings.Contains(out, text) {
			t.Errorf("%q is missing in\n%s", text, out)
		}
	}
	if exists(c.db) {
		t.Error("the user's database was made")
	}
}

func benchBySeveralProcesses(t *testing.T, c *cli) {
	there := c.surroundings()
	p := c.start("bench", "--jobs", "3000", "--concurrency", "10", "--processes", "3", "--json")
	p.wantExit(exitOK)
	list := c.lines(p.out.String())
	l := list["drain by 3 processes"]
	if l.N != 3000 || l.Processes != 3 || l.LeastShare < 0 || l.LeastShare > 1 || l.Duplicates != 0 {
		t.Errorf("the drain is %+v", l)
	}
	if l := list["latency, other process"]; l.N != benchLatencyJobs || l.P50 <= 0 {
		t.Errorf("the latency is %+v", l)
	}
	if left := c.surroundings(); !slices.Equal(left, there) {
		t.Errorf("beside the queue are %q, %q before", left, there)
	}
}
