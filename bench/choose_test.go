package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

func titles(chosen []comparison) []string {
	var list []string
	for _, c := range chosen {
		for _, system := range c.systems {
			list = append(list, c.title()+": "+system.name)
		}
	}
	return list
}

func TestChoose(t *testing.T) {
	play := func(context.Context, task, *parent) (report, error) { return report{}, nil }
	contenders := []contender{
		{name: "a", engine: onSQLite, settings: "default", roles: map[string]role{"one": play, "two": play}},
		{name: "b", engine: onSQLite, settings: "default", command: []string{"b"}, can: []string{"one"}},
		{name: "c", engine: onPostgreSQL, settings: "default", roles: map[string]role{"one": play, "two": play},
			without: map[string]string{"second": "it would burn"}},
		{name: "d", engine: onPostgreSQL, settings: "default", roles: map[string]role{"one": play, "two": play}, only: []string{"second"}},
	}
	all := []workload{
		{name: "first", needs: []string{"one"}},
		{name: "second", needs: []string{"one", "two"}},
		{name: "third", needs: []string{"two"}, long: true, engines: []string{onSQLite}},
	}
	for _, c := range []struct {
		arguments string
		want      []string
	}{
		{"", []string{"SQLite first: a", "SQLite first: b", "SQLite second: a", "PostgreSQL first: c", "PostgreSQL second: d"}},
		{"-all", []string{"SQLite first: a", "SQLite first: b", "SQLite second: a", "SQLite third: a", "PostgreSQL first: c", "PostgreSQL second: d"}},
		{"-run third", []string{"SQLite third: a"}}, // asked for by name
		{"-run ^PostgreSQL", []string{"PostgreSQL first: c", "PostgreSQL second: d"}},
		{"-system ^b$", []string{"SQLite first: b"}},
		{"-system ^b,.default$", []string{"SQLite first: b"}}, // in these settings
		{"-system ^b,.best$", nil},
		{"-run second -system b", nil},
	} {
		s, err := parse(strings.Fields(c.arguments))
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		if got := titles(choose(s, all, contenders, &out)); !slices.Equal(got, c.want) {
			t.Errorf("%q chooses %q, not %q", c.arguments, got, c.want)
		}
		said := strings.Contains(out.String(), "NOT MEASURED: c, default, on PostgreSQL, in \"second\": it would burn")
		if wanted := slices.Contains(c.want, "PostgreSQL second: d"); said != wanted {
			t.Errorf("%q says why c is left out: %v, and should: %v\n%s", c.arguments, said, wanted, out.String())
		}
	}
}

func TestWhoIsThere(t *testing.T) {
	asked := 0
	here := contender{name: "here", engine: onSQLite}
	gone := contender{name: "gone", engine: onSQLite, settings: "default", present: func(context.Context) error {
		asked++
		return errors.New("no node")
	}}
	chosen := []comparison{
		{workload: workload{name: "first"}, engine: onSQLite, systems: []contender{here, gone}},
		{workload: workload{name: "second"}, engine: onSQLite, systems: []contender{gone}},
	}
	var out strings.Builder
	left := titles(whoIsThere(t.Context(), chosen, &out))
	if want := []string{"SQLite first: here"}; !slices.Equal(left, want) {
		t.Errorf("%q are left, not %q", left, want)
	}
	if asked != 1 || strings.Count(out.String(), "no node") != 1 {
		t.Errorf("asked %d times, and said %q", asked, out.String())
	}
	if len(chosen[0].systems) != 2 || chosen[0].systems[1].name != "gone" {
		t.Error("what was given is changed")
	}
}

func TestParse(t *testing.T) {
	s, err := parse(nil)
	if err != nil || s.idle != idleShort || s.narrowed || s.jobs != fewJobs || s.soak != 10*time.Minute {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err := parse([]string{"-all", "-run", "x"}); err != nil || s.idle != idleLong || !s.narrowed || s.jobs != manyJobs {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err := parse([]string{"-run", "x"}); err != nil || s.jobs != manyJobs {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err := parse([]string{"-n", "7"}); err != nil || s.jobs != 7 {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err := parse([]string{"-all", "-idle", "1s"}); err != nil || s.idle != time.Second {
		t.Errorf("%+v, %v", s, err)
	}
	for _, wrong := range []string{"-n -1", "-rounds -1", "-run (", "-system (", "drain"} {
		if _, err := parse(strings.Fields(wrong)); err == nil {
			t.Errorf("%q is taken", wrong)
		}
	}
}

// Rules that all systems and workloads must keep.
func TestContendersAndWorkloads(t *testing.T) {
	all := slices.Concat(ours(), peers())
	seen := map[string]bool{}
	engines := []string{onSQLite, onPostgreSQL}
	for name := range peerEngines() {
		engines = append(engines, name)
	}
	for _, c := range all {
		if seen[c.key()] {
			t.Errorf("two systems are called %s", c.key())
		}
		seen[c.key()] = true
		if !slices.Contains(engines, c.engine) {
			t.Errorf("%s: no starter for its engine", c.key())
		}
		if c.durability != durabilityNormal && c.durability != durabilityFull {
			t.Errorf("%s: unknown durability %q", c.key(), c.durability)
		}
		if c.settings == "" || (c.command == nil) != (c.can == nil) {
			t.Errorf("%s: settings %q, command %q, which can %q", c.key(), c.settings, c.command, c.can)
		}
		for _, name := range c.only {
			if !slices.ContainsFunc(workloads(), func(w workload) bool { return w.name == name && c.plays(w.needs...) }) {
				t.Errorf("%s takes part in %q only, which there is not, or not for it", c.key(), name)
			}
		}
		for name := range c.without {
			if !slices.ContainsFunc(workloads(), func(w workload) bool { return w.name == name }) {
				t.Errorf("%s takes no part in %q, which there is not", c.key(), name)
			}
		}
	}
	names := map[string]bool{}
	for _, w := range workloads() {
		if names[w.name] || w.share < 1 || len(w.needs) == 0 || len(w.lines) == 0 {
			t.Errorf("%+v", w)
		}
		names[w.name] = true
		for _, engine := range w.engines {
			if !slices.Contains(engines, engine) {
				t.Errorf("%s is for %s, which there is not", w.name, engine)
			}
		}
		if !slices.ContainsFunc(ours(), func(c contender) bool { return c.name == sqluice && c.plays(w.needs...) }) {
			t.Errorf("sqluice plays no part in %s", w.name)
		}
	}
}

func TestRounds(t *testing.T) {
	plain, brief, once := workload{}, workload{brief: true}, workload{once: true, brief: true}
	for _, c := range []struct {
		arguments          string
		plain, brief, once int
	}{{"", 3, 1, 1}, {"-all", 3, 3, 1}, {"-rounds 5", 5, 5, 1}, {"-rounds 2 -all", 2, 2, 1}} {
		s, err := parse(strings.Fields(c.arguments))
		if err != nil {
			t.Fatal(err)
		}
		if a, b, d := s.roundsOf(plain), s.roundsOf(brief), s.roundsOf(once); a != c.plain || b != c.brief || d != c.once {
			t.Errorf("%q: %d, %d and %d rounds, not %d, %d and %d", c.arguments, a, b, d, c.plain, c.brief, c.once)
		}
	}
}

func TestJobsOn(t *testing.T) {
	w := workload{share: 10, shares: map[string]int{onPostgreSQL: 50}}
	if a, b, c := w.jobsOn(onSQLite, 1000), w.jobsOn(onPostgreSQL, 1000), w.jobsOn(onSQLite, 3); a != 100 || b != 20 || c != 1 {
		t.Errorf("%d, %d, %d jobs", a, b, c)
	}
}
