// Command conftable writes docs/conformance.md from the `go test -json` output of the conformance suite on each engine.
// `make conformance` runs both. It exits with an error when a test failed.
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
	"unicode"
)

// besides are tests of both engines beside TestConformance, which need something of the engine, with the name of their group. A test
// of them that an engine does not have is about something that it has not, as a server that is stopped.
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
		log.Fatal("usage: go test -json ... | conftable FILE")
	}
	results, err := read(os.Stdin)
	if err != nil {
		log.Fatalf("conftable: %v", err)
	}
	if len(results.failures) > 0 {
		log.Fatalf("conftable: not passed: %s", strings.Join(results.failures, ", "))
	}
	if err := os.WriteFile(os.Args[1], []byte(table(results)), 0o644); err != nil {
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
			return r, fmt.Errorf("not go test -json: %q: %w", lines.Text(), err)
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
		if !slices.Contains(slices.Collect(maps.Values(by)), "pass") {
			r.failures = append(r.failures, test+" passes on no engine")
		}
		for _, engine := range r.engines {
			if group, _, _ := strings.Cut(test, "/"); by[engine] == "" && slices.Contains(slices.Collect(maps.Values(besides)), group) {
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

// engineName returns PostgreSQL for TestConformance of jobs/postgres, and PostgreSQL, BehindPgBouncer for
// TestConformanceBehindPgBouncer.
func engineName(pkg, suite string) string {
	name := map[string]string{"sqlite": "SQLite", "postgres": "PostgreSQL"}[path.Base(pkg)]
	if kind := strings.TrimPrefix(suite, "TestConformance"); kind != "" {
		name += ", " + words(kind)
	}
	return name
}

func table(r results) string {
	var b strings.Builder
	b.WriteString("# Conformance tests by engine\n\n")
	b.WriteString("Written by `make conformance`, which runs the suite in `internal/test/conformance` on each engine. DO NOT EDIT.\n\n")
	fmt.Fprintf(&b, "%d tests, on %s. A dash means that the engine has no such test.\n", len(r.byTest), strings.Join(r.engines, "; "))
	last := ""
	for _, test := range slices.Sorted(maps.Keys(r.byTest)) {
		group, name, _ := strings.Cut(test, "/")
		if group != last {
			last = group
			fmt.Fprintf(&b, "\n## %s\n\n| test | %s |\n|---|%s\n", words(group), strings.Join(r.engines, " | "), strings.Repeat("---|", len(r.engines)))
		}
		fmt.Fprintf(&b, "| %s |", words(name))
		for _, engine := range r.engines {
			outcome := r.byTest[test][engine]
			if outcome == "skip" { // a test says so of what an engine cannot do
				outcome = "-"
			}
			fmt.Fprintf(&b, " %s |", outcome)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// words splits a name such as BootBesideALiveWorker into words.
func words(name string) string {
	var b strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		begins := i > 0 && unicode.IsUpper(r) && (!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1]))
		if r == '_' {
			b.WriteRune(' ')
			continue
		}
		if begins {
			b.WriteRune(' ')
		}
		acronym := i+1 < len(runes) && unicode.IsUpper(runes[i+1]) && !(i+2 < len(runes) && unicode.IsLower(runes[i+2]))
		if begins && !acronym {
			r = unicode.ToLower(r)
		}
		b.WriteRune(r)
	}
	return b.String()
}
