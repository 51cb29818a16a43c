package main

import (
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"maps"
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

// files returns the content of the files of a folder and its folders, by name.
func files(t *testing.T, folder string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		all[strings.TrimPrefix(path, folder)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestGolden(t *testing.T) {
	const golden = "testdata/golden"
	if *update {
		if err := os.RemoveAll(golden); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(golden, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := write(sample(t), filepath.Join(golden, "page.md")); err != nil {
			t.Fatal(err)
		}
	}
	folder := t.TempDir()
	if err := write(sample(t), filepath.Join(folder, "page.md")); err != nil {
		t.Fatal(err)
	}
	want, got := files(t, golden), files(t, folder)
	if w, g := slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got)); !slices.Equal(w, g) {
		t.Fatalf("files %v, not %v", g, w)
	}
	for name := range want {
		if got[name] != want[name] {
			t.Errorf("%s is not the golden one: run go test ./report -update and look at the difference", name)
		}
	}
}

func TestWriteRemovesFormerPlots(t *testing.T) {
	folder := t.TempDir()
	old := filepath.Join(folder, "page", "gone.svg")
	if err := os.MkdirAll(filepath.Dir(old), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(old, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := write(sample(t), filepath.Join(folder, "page.md")); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(old); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the former plot is still there: %v", err)
	}
}

func TestChartsAreWellFormedAndDescribed(t *testing.T) {
	for _, w := range arrange(sample(t).list) {
		data, err := chart(w)
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]string{}
		decoder := xml.NewDecoder(strings.NewReader(string(data)))
		var name string
		for {
			token, err := decoder.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", w.name, err)
			}
			switch token := token.(type) {
			case xml.StartElement:
				name = token.Name.Local
				if name == "script" {
					t.Errorf("%s has a script", w.name)
				}
			case xml.CharData:
				found[name] += string(token)
			}
		}
		if !strings.Contains(found["title"], capital(w.name)) || !strings.Contains(found["desc"], ours) {
			t.Errorf("%s: title %q, description %q", w.name, found["title"], found["desc"])
		}
		if !strings.Contains(found["style"], "prefers-color-scheme: dark") {
			t.Errorf("%s has no colours for the dark", w.name)
		}
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
		"no machine":        someResult,
		"no result":         someMachine,
		"two machines":      someMachine + someMachine + someResult,
		"no JSON":           someMachine + someResult + "workload  system  per second\n",
		"no round":          someMachine + `{"system":"sqluice","engine":"SQLite","workload":"drain"}`,
		"no system":         someMachine + `{"engine":"SQLite","workload":"drain","round":1}`,
		"an unknown string": someMachine + strings.Replace(someResult, `"round"`, `"colour":"red","round"`, 1),
	} {
		if _, err := read(strings.NewReader(text)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestMedians(t *testing.T) {
	rounds := []result{
		{PerSecond: 30, PeakRSS: 5, LeastShare: new(0.9), Errors: 1, Duplicates: 2, Others: map[string]float64{"busy": 0}},
		{PerSecond: 10, PeakRSS: 7, LeastShare: new(0.7), Duplicates: 3, Others: map[string]float64{"busy": 0.4}},
		{PerSecond: 0, PeakRSS: 6, Errors: 1},
		{PerSecond: 20, PeakRSS: 6, LeastShare: new(0.8)},
	}
	r := summarize(rounds, throughput)
	if r.PerSecond != 20 || r.min != 10 || r.max != 30 || r.counted != 3 || r.rounds != 4 {
		t.Errorf("median %g (%g .. %g) of %d of %d", r.PerSecond, r.min, r.max, r.counted, r.rounds)
	}
	if r.PeakRSS != 7 || *r.LeastShare != 0.7 || r.Errors != 2 || r.Duplicates != 5 || r.Others["busy"] != 0.2 {
		t.Errorf("peak %g, share %g, %d errors, %d duplicates, %v", r.PeakRSS, *r.LeastShare, r.Errors, r.Duplicates, r.Others)
	}
	if even := summarize(rounds[:2], throughput); even.PerSecond != 20 {
		t.Errorf("median %g of 30 and 10", even.PerSecond)
	}
}

func TestComparisonsStayWithinAnEngineAndDurability(t *testing.T) {
	one := func(system, engine, durability string, perSecond float64) result {
		return result{System: system, Engine: engine, Durability: durability, Workload: "drain", Round: 1, PerSecond: perSecond}
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
	if f := w.factor(normal, w.limitOf(normal)); f != 0.5 {
		t.Errorf("normal is %g of the raw loop", f)
	}
	if f := w.factor(normal, w.peerOf(normal)); f != 2 {
		t.Errorf("normal is %g times the best peer", f)
	}
	if f := w.factor(full, w.limitOf(full)); f != 50.0/60 {
		t.Errorf("full is %g of the raw loop", f)
	}
	if p := w.peerOf(full); p != nil {
		t.Errorf("full has the peer %s", p.System)
	}
}

func TestVariantsAreComparedWithThePlainOne(t *testing.T) {
	one := func(system, settings string, perSecond float64) result {
		return result{System: system, Engine: "SQLite", Settings: settings, Workload: backlog, Round: 1, PerSecond: perSecond}
	}
	all := []result{
		one(limit, "default, empty table", 100), one(limit, "default, beside rows", 50),
		one(ours, "default, empty table", 80), one(ours, "default, beside rows", 40),
	}
	w := arrange(all)[0]
	row := w.rows[3]
	if f := w.factor(row, w.plainOf(row)); f != 0.5 {
		t.Errorf("%g of the plain variant", f)
	}
	if f := w.factor(row, w.limitOf(row)); f != 0.8 {
		t.Errorf("%g of the raw loop beside rows", f)
	}
	o := target{"SQLite", backlog, "", ofPlain, 0.95}.check([]workload{w})
	if o.value != 0.5 || o.isMet {
		t.Errorf("the target has %g, met %t", o.value, o.isMet)
	}
}

func TestTargets(t *testing.T) {
	workloads := arrange(sample(t).list)
	for _, c := range []struct {
		target target
		value  float64
		isMet  bool
	}{
		{target{"SQLite", drain, "", perSecond, 80_000}, 82_500, true},
		{target{"SQLite", drain, "", perSecond, 82_501}, 82_500, false},
		{target{"SQLite", drain, "full", perSecond, 50_000}, 47_000, false},
		{target{"SQLite", drain, "", ofLimit, 0.8}, 82_500.0 / 101_000, true},
		{target{"SQLite", latencySame, "", p50, 0.21}, 0.21, true},
		{target{"SQLite", latencySame, "", p99, 0.65}, 0.66, false},
		{target{"SQLite", drainBy4, "", fairness, 0.5}, 0.81, true},
		{target{"PostgreSQL", drain, "", perSecond, 55_000}, 56_000, true}, // always fully durable
		{target{"PostgreSQL", bulkInsert, "", perSecond, 1}, 0, false},
	} {
		o := c.target.check(workloads)
		if o.value != c.value || o.isMet != c.isMet || (o.row != nil) != (c.value != 0) {
			t.Errorf("%s, %s: %g, met %t", c.target.title(), c.target.figure.name, o.value, o.isMet)
		}
	}
}

func TestAProcessThatGotNothingMissesTheTarget(t *testing.T) {
	workloads := arrange([]result{{System: ours, Engine: "SQLite", Workload: drainBy4, Round: 1, LeastShare: new(0.0)}})
	o := target{"SQLite", drainBy4, "", fairness, 0.5}.check(workloads)
	if o.row == nil || o.isMet {
		t.Errorf("row %v, met %t", o.row, o.isMet)
	}
	if text := workloads[0].table(); !strings.Contains(text, "| 0.00 |") {
		t.Errorf("the share is not in the table:\n%s", text)
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
