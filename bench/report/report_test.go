package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// sample returns the content of testdata/results.jsonl.
func sample(t *testing.T) results {
	t.Helper()
	file, err := os.Open("testdata/results.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	all, err := read(file)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestGolden(t *testing.T) {
	const golden = "testdata/golden.md"
	if *update {
		if err := write(sample(t), golden); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	written := filepath.Join(t.TempDir(), "page.md")
	if err := write(sample(t), written); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(written); err != nil || !bytes.Equal(got, want) {
		t.Errorf("the page is not %s: run go test ./report -update and look at the difference", golden)
	}
}

const someMachine = `{"machine":{"cpu":"c"}}` + "\n"
const someResult = `{"system":"sqluice","engine":"SQLite","workload":"drain","round":1,"jobs_per_second":5}` + "\n"

func TestRead(t *testing.T) {
	all, err := read(strings.NewReader("# a\n" + someMachine + "\n# b\n" + someResult + "# b\n"))
	if err != nil {
		t.Fatal(err)
	}
	if all.machine.CPU != "c" || len(all.list) != 1 || !slices.Equal(all.remarks, []string{"a", "b"}) {
		t.Errorf("read %+v", all)
	}
	for name, text := range map[string]string{
		"no machine":   someResult,
		"no result":    someMachine,
		"two machines": someMachine + someMachine + someResult,
		"no JSON":      someMachine + someResult + "workload  system  per second\n",
		"no round":     someMachine + `{"system":"sqluice","engine":"SQLite","workload":"drain"}`,
		"no system":    someMachine + `{"engine":"SQLite","workload":"drain","round":1}`,
	} {
		if _, err := read(strings.NewReader(text)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestMedians(t *testing.T) {
	rounds := []result{
		{PerSecond: 30, CPU: 5, Errors: 1, Duplicates: 2},
		{PerSecond: 10, CPU: 7, Duplicates: 3},
		{PerSecond: 0, Errors: 1, Error: "killed\nby a signal"},
		{PerSecond: 20, CPU: 6},
	}
	r := summarize(rounds, throughput)
	if r.PerSecond != 20 || r.min != 10 || r.max != 30 || r.counted != 3 || r.rounds != 4 {
		t.Errorf("median %g (%g .. %g) of %d of %d", r.PerSecond, r.min, r.max, r.counted, r.rounds)
	}
	if r.CPU != 6 || r.Errors != 2 || r.Duplicates != 5 || !slices.Equal(r.failures, []string{"killed"}) {
		t.Errorf("processor time %g, %d errors, %d duplicates, %q", r.CPU, r.Errors, r.Duplicates, r.failures)
	}
	if even := summarize(rounds[:2], throughput); even.PerSecond != 20 {
		t.Errorf("median %g of 30 and 10", even.PerSecond)
	}
}

func TestComparisonsStayWithinAnEngineAndDurability(t *testing.T) {
	one := func(system, engine, durability string, perSecond float64) result {
		return result{System: system, Engine: engine, Settings: "default", Durability: durability, Workload: "drain", Round: 1, PerSecond: perSecond}
	}
	w := arrange([]result{
		one("asynq", "Redis", "", 500), one("quick", "SQLite", "normal", 90), one("quicker", "SQLite", "normal", 100),
		one("some peer", "PostgreSQL", "full", 1000), one(ours, "SQLite", "full", 50), one(limit, "SQLite", "full", 60),
		one(ours, "SQLite", "", 200), one(limit, "SQLite", "normal", 400),
	})[0]
	var order []string
	for _, r := range w.rows {
		order = append(order, r.System)
	}
	want := []string{ours, limit, "quick", "quicker", limit, ours, "some peer", "asynq"}
	if !slices.Equal(order, want) {
		t.Errorf("order %v, not %v", order, want)
	}
	normal, full := w.rows[0], w.rows[5]
	if f := w.ratio(normal, w.limitOf(normal)); f != 0.5 {
		t.Errorf("normal is %g of the raw loop", f)
	}
	if f := w.ratio(normal, w.peerOf(normal)); f != 2 {
		t.Errorf("normal is %g times the best peer", f)
	}
	if f := w.ratio(full, w.limitOf(full)); f != 50.0/60 {
		t.Errorf("full is %g of the raw loop", f)
	}
	if p := w.peerOf(full); p != nil {
		t.Errorf("full has the peer %s", p.System)
	}
}

func TestVariantsAreComparedWithTheirOwnLoop(t *testing.T) {
	one := func(system, settings string, perSecond float64) result {
		return result{System: system, Engine: "SQLite", Settings: settings, Workload: "drain beside a backlog", Round: 1, PerSecond: perSecond}
	}
	text := workloadTable(arrange([]result{
		one(limit, "default, empty table", 100), one(limit, "default, beside rows", 50),
		one(ours, "default, empty table", 80), one(ours, "default, beside rows", 30),
	}))
	for _, want := range []string{
		"| drain beside a backlog: empty table | SQLite | 80.0 | | 100 | 0.80 |", "| drain beside a backlog: beside rows | SQLite | 30.0 | | 50.0 | 0.60 |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the table lacks %q:\n%s", want, text)
		}
	}
}

func TestTargets(t *testing.T) {
	workloads := arrange(append(sample(t).list,
		result{System: ours, Engine: "SQLite", Settings: "best", Workload: bulkInsert, Round: 1, PerSecond: 9},
		result{System: ours, Engine: "SQLite", Settings: "default", Workload: bulkInsert, Round: 1, PerSecond: 4},
		result{System: "Slow", Engine: "SQLite", Settings: "best", Workload: bulkInsert, Round: 1, PerSecond: 2},
	))
	for _, c := range []struct {
		target target
		value  float64
		peer   string
		isMet  bool
	}{
		{target{"SQLite", drain, overPeer, 7.8}, 82_500.0 / 10_500, "backlite", true},
		{target{"SQLite", drain, overPeer, 7.9}, 82_500.0 / 10_500, "backlite", false},
		{target{"SQLite", drain, ofLimit, 0.8}, 82_500.0 / 101_000, "", true},
		{target{"SQLite", bulkInsert, overPeer, 2}, 2, "Slow", true}, // the default's, not the best
		{target{"SQLite", latencySame, p50, 0.21}, 0.21, "", true},
		{target{"SQLite", latencySame, p99, 0.65}, 0.66, "", false},
		{target{"PostgreSQL", drain, overPeer, 1.2}, 56_000.0 / 48_600, "Graphile Worker", false}, // always fully durable
		{target{"PostgreSQL", bulkInsert, ofLimit, 0}, 0, "", false},
		{target{"PostgreSQL", idle, belowPeer, 1}, 0, "", false},
	} {
		o := c.target.check(workloads)
		peer := ""
		if o.other != nil {
			peer = o.other.System
		}
		if o.value != c.value || peer != c.peer || o.isMet != c.isMet {
			t.Errorf("%s, %s: %g (%s), met %t", c.target.title(), c.target.figure.name, o.value, peer, o.isMet)
		}
	}
}

func TestLessIsBetterForAnIdleWorker(t *testing.T) {
	one := func(system string, cpu float64) result {
		return result{System: system, Engine: "PostgreSQL", Settings: "default", Workload: idle, Round: 1, CPU: cpu, Seconds: 1}
	}
	workloads := arrange([]result{one(ours, 0.03), one("Slow", 0.05), one("Quick", 0.02)})
	o := target{"PostgreSQL", idle, belowPeer, 1}.check(workloads)
	if o.value != 1.5 || o.other.System != "Quick" || o.isMet {
		t.Errorf("%g of %s, met %t", o.value, o.other.System, o.isMet)
	}
	if text := workloadTable(workloads); !strings.Contains(text, "| 3.00 % | | | | 2.00 % (Quick, default) | 1.50 |") {
		t.Errorf("the table has\n%s", text)
	}
}

func TestFailuresAreListed(t *testing.T) {
	one := func(system string, round int, why string) result {
		return result{System: system, Version: "v1", Engine: "SQLite", Settings: "default", Workload: drain, Round: round, Duplicates: 2, Error: why}
	}
	workloads := arrange([]result{one(ours, 1, "killed"), one(ours, 2, "killed")})
	if list, want := failures(workloads), "drain, SQLite, sqluice v1, default: rounds with a figure: 0 of 2; duplicates: 4; killed"; !slices.Equal(list, []string{want}) {
		t.Errorf("%q, not %q", list, want)
	}
	if text := workloadTable(workloads); !strings.Contains(text, "| drain | SQLite | failed |") || !strings.Contains(text, "| 0 of 2 |") {
		t.Errorf("the table has\n%s", text)
	}
}

func TestWorkloadsLeftOutForOneReasonShareALine(t *testing.T) {
	list := leftOut([]string{
		"3 rounds", `NOT MEASURED: a, best, on SQLite, in "drain": it is slow`, `NOT MEASURED: b, best, on SQLite, in "drain": it is slow`,
		`NOT MEASURED: a, best, on SQLite, in "idle": it is slow`, "NOT MEASURED on Redis: none", "NOT MEASURED: c, default, on Redis: [gone]",
	})
	want := []string{
		"a, best, on SQLite, in drain; idle: it is slow", "b, best, on SQLite, in drain: it is slow", "Redis: none",
		`c, default, on Redis: \[gone\]`,
	}
	if !slices.Equal(list, want) {
		t.Errorf("%q, not %q", list, want)
	}
}

func TestNotes(t *testing.T) {
	const base = "a\n## Introduction\nb\n## Method\nc\n"
	for name, text := range map[string]string{
		"nothing": "", "no method": "## Introduction\nb\n", "no target": base + "## SQLite, flight\nd\n",
		"twice": base + "## SQLite, drain\nd\n## SQLite, drain\ne\n",
	} {
		if _, err := parseNotes(text); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	all, err := parseNotes(base + "## SQLite, drain\n\nd\n\ne\n")
	if err != nil || all["SQLite, drain"] != "d\n\ne" || all[method] != "c" {
		t.Errorf("notes %v, %v", all, err)
	}
}

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{
		0: "", 0.0123456: "0.0123", 0.214: "0.214", 0.2: "0.200", 1.005: "1.00", 12.34: "12.3", 646.4: "646", 999.6: "1,000",
		5300: "5,300", 81234: "81,200", 1234567: "1,230,000", 0.00004: "0.0000",
	} {
		if got := number(v); got != want {
			t.Errorf("number(%g) = %q, not %q", v, got, want)
		}
	}
}

func TestVersion(t *testing.T) {
	for text, want := range map[string]string{
		"v22.23.3": "22.23.3", "postgres (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)": "15.14",
		"Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.2.1 bits=64": "7.0.15", "": "", "none": "",
	} {
		if got := version(text); got != want {
			t.Errorf("version(%q) = %q, not %q", text, got, want)
		}
	}
}
