// Command conftable summarises the `go test -json` output of the conformance suite on each engine. `make conformance` runs both.
//
//	conftable FILE     writes the page docs/conformance.md: one row for each group of tests
//	conftable -each    prints one row for each test
//
// It exits with an error when a test failed or a group has no promise.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
)

// besides maps each test outside of TestConformance to its group. These tests need a part of the engine, such as its server. An engine
// without that part lacks the test.
var besides = map[string]string{
	"TestDeadlines":                           "Deadlines",
	"TestDeadlinesOfALockedTable":             "Deadlines",
	"TestRulesOfTheApplicationRefuseSomeJobs": "RulesOfTheApplication",
	"TestTriggersMeddleWithWhatIsHandedOver":  "TriggersOfTheApplication",
	"TestClockThatFails":                      "ClockThatFails",
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: go test -json ... | conftable FILE, or conftable -each")
	}
	results, err := read(os.Stdin)
	if err != nil {
		log.Fatalf("conftable: %v", err)
	}
	if len(results.failures) > 0 {
		log.Fatalf("conftable: not passed: %s", strings.Join(results.failures, ", "))
	}
	if os.Args[1] == "-each" {
		_, err = os.Stdout.WriteString(each(results))
	} else {
		err = os.WriteFile(os.Args[1], []byte(page(results)), 0o644)
	}
	if err != nil {
		log.Fatalf("conftable: %v", err)
	}
}

// event is a line of go test -json.
type event struct {
	Action, Package, Test string
}

// results holds the outcome of each test of the suite, by engine.
type results struct {
	byTest   map[string]map[string]string // test, engine: pass, fail or skip
	engines  []string
	failures []string
}

func read(in io.Reader) (results, error) {
	r := results{byTest: map[string]map[string]string{}}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return r, fmt.Errorf("line %q is not an event of go test -json: %w", lines.Text(), err)
		}
		if e.Action == "fail" && e.Test == "" { // it did not build, or ended in the middle
			r.failures = append(r.failures, e.Package)
		}
		suite, test, below := strings.Cut(e.Test, "/")
		over := e.Action == "pass" || e.Action == "fail" || e.Action == "skip"
		if !over {
			continue
		}
		if group, beside := besides[suite]; beside {
			suite, test = "TestConformance", group+"/"+test
		} else if !strings.HasPrefix(suite, "TestConformance") {
			continue
		}
		engine := engineName(e.Package, suite)
		if !slices.Contains(r.engines, engine) {
			r.engines = append(r.engines, engine)
		}
		if e.Action == "fail" {
			r.failures = append(r.failures, fmt.Sprintf("%s on %s (%s)", e.Test, engine, e.Action))
		}
		if !below || strings.Count(test, "/") != 1 {
			continue // the suite, or a group of tests
		}
		if r.byTest[test] == nil {
			r.byTest[test] = map[string]string{}
		}
		r.byTest[test][engine] = e.Action
	}
	slices.Sort(r.engines)
	for test, by := range r.byTest {
		group, _, _ := strings.Cut(test, "/")
		if promises[group] == "" {
			r.failures = append(r.failures, "promises lacks a sentence for the group "+group)
		}
		if !slices.Contains(slices.Collect(maps.Values(by)), "pass") {
			r.failures = append(r.failures, test+" passes on no engine")
		}
		for _, engine := range r.engines {
			if by[engine] == "" && slices.Contains(slices.Collect(maps.Values(besides)), group) {
				by[engine] = "-"
			} else if by[engine] == "" {
				r.failures = append(r.failures, test+" did not run on "+engine)
			}
		}
	}
	for _, engine := range []string{"SQLite", "PostgreSQL"} {
		if !slices.Contains(r.engines, engine) {
			r.failures = append(r.failures, "no test ran on "+engine)
		}
	}
	return r, lines.Err()
}

// engineName returns the engine that ran a test function of a package.
func engineName(pkg, suite string) string {
	name := map[string]string{"sqlite": "SQLite", "postgres": "PostgreSQL"}[path.Base(pkg)]
	switch kind := strings.TrimPrefix(suite, "TestConformance"); kind {
	case "":
		return name
	case "BehindPgBouncer":
		return name + " behind PgBouncer"
	default:
		return name + " " + kind
	}
}

// outcome returns how a test ended on an engine: pass, or a dash where the engine lacks the tested feature.
func (r results) outcome(test, engine string) string {
	if action := r.byTest[test][engine]; action != "skip" {
		return action
	}
	return "-"
}

// each returns a line for each test: its name and its outcome on each engine, separated by tabs.
func each(r results) string {
	var b strings.Builder
	fmt.Fprintf(&b, "test\t%s\n", strings.Join(r.engines, "\t"))
	for _, test := range slices.Sorted(maps.Keys(r.byTest)) {
		b.WriteString(test)
		for _, engine := range r.engines {
			b.WriteString("\t" + r.outcome(test, engine))
		}
		b.WriteString("\n")
	}
	return b.String()
}

const introduction = `# Conformance tests by engine

Written by ` + "`make conformance`" + `, which runs the suite in ` + "`internal/test/conformance`" + ` on each engine. DO NOT EDIT.

Print every test and its result, or run the tests of one group:

<!-- not run: it takes minutes, and CI runs the suite -->
` + "```sh" + `
make conformance EACH=1
go test ./jobs/sqlite ./jobs/postgres -run 'TestConformance/^Rescue$' -v
` + "```" + `

%d tests. "2 of 4" means that the engine lacks the subject of the other two tests, a dash that it lacks the subject of all.

`

// page returns docs/conformance.md. Its rows are without spaces between cells.
func page(r results) string {
	var b strings.Builder
	fmt.Fprintf(&b, introduction, len(r.byTest))
	fmt.Fprintf(&b, "|group|tests|promise|%s|\n|---|---|---|%s\n", strings.Join(r.engines, "|"), strings.Repeat("---|", len(r.engines)))
	groups := r.groups()
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		tests := groups[group]
		fmt.Fprintf(&b, "|%s|%d|%s|", group, len(tests), promises[group])
		for _, engine := range r.engines {
			b.WriteString(r.summary(tests, engine) + "|")
		}
		b.WriteString("\n")
	}
	return b.String()
}

// groups returns the tests of each group.
func (r results) groups() map[string][]string {
	groups := map[string][]string{}
	for test := range r.byTest {
		group, _, _ := strings.Cut(test, "/")
		groups[group] = append(groups[group], test)
	}
	return groups
}

// summary returns the outcome of several tests on an engine: pass, a dash when the engine lacks all of them, or a count such as 2 of 4.
func (r results) summary(tests []string, engine string) string {
	passed := 0
	for _, test := range tests {
		if r.outcome(test, engine) == "pass" {
			passed++
		}
	}
	switch passed {
	case 0:
		return "-"
	case len(tests):
		return "pass"
	default:
		return fmt.Sprintf("%d of %d", passed, len(tests))
	}
}
