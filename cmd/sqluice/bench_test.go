package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

func benchTests() tests {
	if testing.Short() {
		return nil // what it measures is the slower, the more is looked at
	}
	return tests{
		"BenchLeavesTheJobsAlone": benchLeavesTheJobsAlone,
		"BenchBySeveralProcesses": benchBySeveralProcesses,
	}
}

// surroundings returns what is beside the queue: the files of a folder, or the bench's schemas in a database.
func (c *cli) surroundings() []string {
	c.t.Helper()
	d, err := parseDatabase(c.db)
	if err != nil {
		c.t.Fatal(err)
	}
	if d.postgres() {
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
	entries, err := os.ReadDir(filepath.Dir(d.path))
	if err != nil {
		c.t.Fatal(err)
	}
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// lines decodes what bench --json prints.
func (c *cli) lines(out string) map[string]benchLine {
	c.t.Helper()
	list := map[string]benchLine{}
	for line := range strings.Lines(out) {
		var l benchLine
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
		"insert one by one": n, "insert by 64 callers": n, "bulk insert": n, "drain": n, "latency, same process": latencyJobs,
	} {
		// On a slow disk the inserts end with their time.
		l, ok := list[workload]
		slow := l.Seconds >= insertTime.Seconds() && strings.HasPrefix(workload, "insert")
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
	if l := list["latency, other process"]; l.N != latencyJobs || l.P50 <= 0 {
		t.Errorf("the latency is %+v", l)
	}
	if left := c.surroundings(); !slices.Equal(left, there) {
		t.Errorf("beside the queue are %q, %q before", left, there)
	}
}

// The folder to which a link leads may be on another disk.
func TestBenchIsOnTheDiskOfTheDatabase(t *testing.T) {
	there, here := t.TempDir(), t.TempDir()
	target := filepath.Join(there, "real.db")
	(&cli{t, target}).ok("up")
	link := filepath.Join(here, "jobs.db")
	if err := os.Symlink(target, link); err != nil {
		t.Skipf("no links here: %v", err)
	}
	place, err := benchFolder(t.Context(), database{path: link}, newLogger(newProgress(os.Stderr), "text", "warn"), nil)
	if err != nil {
		t.Fatal(err)
	}
	want, err := filepath.EvalSymlinks(there)
	if err != nil {
		t.Fatal(err)
	}
	if dir := filepath.Dir(filepath.Dir(place.database.path)); dir != want {
		t.Errorf("it is in %s, not in %s", dir, want)
	}
	if err := place.remove(t.Context()); err != nil {
		t.Error(err)
	}
	if exists(filepath.Dir(place.database.path)) {
		t.Error("the folder is left")
	}
}

func TestPerMille(t *testing.T) {
	laps := make([]time.Duration, 1000)
	for i := range laps {
		laps[i] = time.Duration(i+1) * time.Millisecond
	}
	var many, few benchLine
	many.setLaps(laps)
	few.setLaps(laps[:999])
	if many.P999 != 999 || few.P999 != 0 || few.P99 != 990 {
		t.Errorf("of 1000 laps: %+v, of 999: %+v", many, few)
	}
	if shown := many.times() + few.times(); strings.Count(shown, "p99.9 999.000 ms") != 1 || strings.Count(shown, "p99.9") != 1 {
		t.Errorf("shown: %q", shown)
	}
	for n, want := range map[int]float64{1: 1, 500: 500, 990: 990, 999: 999, 1000: 1000} {
		if got := perMille(laps, n); got != want {
			t.Errorf("perMille(%d) = %v, want %v", n, got, want)
		}
	}
	if got := perMille(laps[:200], 999); got != 200 {
		t.Errorf("of 200 it is %v", got)
	}
	if got := perMille(laps[:1], 500); got != 1 {
		t.Errorf("of one it is %v", got)
	}
	if got := perMille(nil, 500); got != 0 {
		t.Errorf("of none it is %v", got)
	}
}

func TestBenchPayloadsHaveTheSize(t *testing.T) {
	for _, size := range []int{minBenchPayload, 100, 100_000} {
		for _, at := range []time.Time{{}, time.Unix(0, 0), time.Now()} {
			payload := benchPayload(at, size)
			var sent struct{ At int64 }
			if err := json.Unmarshal(payload, &sent); err != nil || sent.At != at.UnixNano() || len(payload) != size {
				t.Errorf("%d bytes, want %d: %v in %s", len(payload), size, err, payload)
			}
		}
	}
}

func TestURLParameters(t *testing.T) {
	const url = "postgres://u:p%40@h:1/n"
	for given, want := range map[string]string{
		"":                        "",
		"?schema=a":               "",
		"?sslmode=require":        "?sslmode=require",
		"?schema=a&sslmode=off":   "?sslmode=off",
		"?a=1&schema=a&b=2&poll=": "?a=1&b=2&poll=",
	} {
		if got := withoutParameters(url+given, "schema", "pgbouncer"); got != url+want {
			t.Errorf("of %s is left %s", url+given, got)
		}
	}
	if got := withParameter(withParameter(url, "a=1"), "b=2"); got != url+"?a=1&b=2" {
		t.Errorf("with parameters it is %s", got)
	}
}
