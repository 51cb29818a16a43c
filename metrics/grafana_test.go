package metrics_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// dashboard is the part of a Grafana dashboard's file that these tests check.
type dashboard struct {
	UID           string  `json:"uid"`
	Title         string  `json:"title"`
	SchemaVersion int     `json:"schemaVersion"`
	Panels        []panel `json:"panels"`
	Templating    struct {
		List []struct {
			Name, Type string
			Query      json.RawMessage
			Datasource datasource
		}
	}
	Time struct{ From, To string }
}

type datasource struct{ Type, UID string }

type panel struct {
	ID         int
	Type       string
	Title      string
	Datasource datasource
	GridPos    struct{ X, Y, W, H int }
	Targets    []struct {
		RefID      string `json:"refId"`
		Expr       string
		Datasource datasource
	}
}

func readDashboard(t *testing.T) dashboard {
	t.Helper()
	text, err := os.ReadFile("../docs/grafana/sqluice.json")
	if err != nil {
		t.Fatal(err)
	}
	var d dashboard
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// The file can be imported into Grafana: it has a title, panels of known types that do not overlap, and a data source that is
// chosen at the import.
func TestDashboardLoads(t *testing.T) {
	d := readDashboard(t)
	if d.UID == "" || d.Title == "" || d.SchemaVersion < 36 || d.Time.From == "" || d.Time.To == "" {
		t.Errorf("the head is %q %q %d %v", d.UID, d.Title, d.SchemaVersion, d.Time)
	}
	ids, taken := map[int]bool{}, map[[2]int]string{}
	for _, p := range d.Panels {
		if p.ID == 0 || ids[p.ID] {
			t.Errorf("panel %q has the id %d", p.Title, p.ID)
		}
		ids[p.ID] = true
		if !slices.Contains([]string{"row", "stat", "timeseries"}, p.Type) || p.Title == "" {
			t.Errorf("panel %d is a %q, called %q", p.ID, p.Type, p.Title)
		}
		if p.GridPos.W < 1 || p.GridPos.H < 1 || p.GridPos.X < 0 || p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("panel %q is at %+v", p.Title, p.GridPos)
		}
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" {
					t.Errorf("panel %q lies on %q", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
		if p.Type == "row" {
			continue
		}
		if want := (datasource{"prometheus", "${datasource}"}); p.Datasource != want || len(p.Targets) == 0 {
			t.Errorf("panel %q reads %v, with %d queries", p.Title, p.Datasource, len(p.Targets))
		}
		refs := map[string]bool{}
		for _, target := range p.Targets {
			if target.RefID == "" || refs[target.RefID] || target.Datasource != p.Datasource {
				t.Errorf("panel %q has a query %q of %v", p.Title, target.RefID, target.Datasource)
			}
			refs[target.RefID] = true
		}
	}
	names := map[string]string{}
	for _, v := range d.Templating.List {
		names[v.Name] = v.Type
	}
	if names["datasource"] != "datasource" {
		t.Errorf("the variables are %v", names)
	}
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			for _, match := range regexp.MustCompile(`\$(\w+)`).FindAllStringSubmatch(target.Expr, -1) {
				if names[match[1]] == "" && match[1] != "__rate_interval" {
					t.Errorf("panel %q uses the variable %s, which there is not", p.Title, match[1])
				}
			}
		}
	}
}

// Every query of the dashboard uses existing metrics and labels, and every metric is shown.
func TestDashboardShowsTheMetrics(t *testing.T) {
	series := documented(t)
	shown := map[string]bool{}
	for _, p := range readDashboard(t).Panels {
		for _, target := range p.Targets {
			for _, fault := range faultsOf(target.Expr, series, shown) {
				t.Errorf("panel %q: %s: %s", p.Title, target.Expr, fault)
			}
		}
	}
	for _, v := range readDashboard(t).Templating.List {
		if v.Type != "query" {
			continue
		}
		var query struct{ Query string }
		if err := json.Unmarshal(v.Query, &query); err != nil {
			t.Fatal(err)
		}
		match := regexp.MustCompile(`^label_values\((.+), (\w+)\)$`).FindStringSubmatch(query.Query)
		if match == nil || strings.HasPrefix(match[1], "sqluice_") && !slices.Contains(series[match[1]].labels, match[2]) {
			t.Errorf("variable %s is %s", v.Name, query.Query)
		}
	}
	for name, s := range series {
		if !shown[s.metric] {
			t.Errorf("no panel shows %s", name)
		}
	}
}

// described is a series that Prometheus stores for a metric of the table.
type described struct {
	metric, sort string
	labels       []string
}

// documented returns the series of the metrics in the table, by the names that queries use.
func documented(t *testing.T) map[string]described {
	t.Helper()
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	series := map[string]described{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(sqluice_\\w+)` \\| (\\w+) \\| (.*?) \\|").FindAllStringSubmatch(string(text), -1) {
		d := described{metric: row[1], sort: row[2], labels: []string{"instance", "job"}}
		for _, label := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(row[3], -1) {
			d.labels = append(d.labels, label[1])
		}
		if d.sort != "histogram" {
			series[d.metric] = d
			continue
		}
		series[d.metric+"_sum"], series[d.metric+"_count"] = d, d
		d.labels = append(slices.Clone(d.labels), "le")
		series[d.metric+"_bucket"] = d
	}
	if len(series) == 0 {
		t.Fatal("the table is empty")
	}
	return series
}

var (
	stringsOf   = regexp.MustCompile(`"[^"]*"`)
	rangesOf    = regexp.MustCompile(`\[[^\]]*\]`)
	selectorsOf = regexp.MustCompile(`(\w+)(\{[^}]*\})?(\[\])?`)
	matchersOf  = regexp.MustCompile(`(\w+)\s*(?:=~|!~|!=|=)`)
	groupsOf    = regexp.MustCompile(`\bby \(([^)]*)\)`)
)

// faultsOf returns the faults of a query. It parses only what this dashboard uses: functions and sums by labels of
// selected series.
func faultsOf(expr string, series map[string]described, shown map[string]bool) (faults []string) {
	bare := rangesOf.ReplaceAllString(stringsOf.ReplaceAllString(expr, `""`), "[]")
	if depth, open := 0, map[rune]int{'(': 1, '{': 1, ')': -1, '}': -1}; true {
		for _, r := range bare {
			if depth += open[r]; depth < 0 {
				return []string{"a bracket closes that was not opened"}
			}
		}
		if depth != 0 {
			return []string{"a bracket is not closed"}
		}
	}
	var used []described
	counter := regexp.MustCompile(`\b(rate|increase)\(`)
	for _, match := range selectorsOf.FindAllStringSubmatch(bare, -1) {
		name := match[1]
		if !strings.HasPrefix(name, "sqluice_") {
			continue
		}
		s, known := series[name]
		if !known {
			faults = append(faults, fmt.Sprintf("there is no %s, but %v", name, slices.Sorted(maps.Keys(series))))
			continue
		}
		shown[s.metric] = true
		used = append(used, s)
		for _, label := range matchersOf.FindAllStringSubmatch(match[2], -1) {
			if !slices.Contains(s.labels, label[1]) {
				faults = append(faults, fmt.Sprintf("%s has no label %s", name, label[1]))
			}
		}
		if ranged := match[3] != ""; ranged != (s.sort != "gauge") || ranged != counter.MatchString(bare) {
			faults = append(faults, fmt.Sprintf("%s is a %s: rate or increase is for what counts up, and for that alone", name, s.sort))
		}
	}
	if len(used) == 0 {
		return append(faults, "it reads none of the metrics")
	}
	for _, group := range groupsOf.FindAllStringSubmatch(bare, -1) {
		for _, label := range strings.Split(group[1], ",") {
			for _, s := range used {
				if !slices.Contains(s.labels, strings.TrimSpace(label)) {
					faults = append(faults, fmt.Sprintf("%s has no label %s", s.metric, label))
				}
			}
		}
	}
	return faults
}

func TestTheReaderOfQueriesFindsFaults(t *testing.T) {
	series := documented(t)
	for query, faulty := range map[string]bool{
		`sum(rate(sqluice_turn_seconds_sum{instance=~"a"}[5m]))`: false,
		`max(sqluice_jobs{status="failed"})`:                     false,
		`max(sqluice_jobs{status="failed"}`:                      true,
		`max(sqluice_jobs)) + (1`:                                true,
		`max(sqluice_jobz)`:                                      true,
		`max(sqluice_jobs{queue="a"})`:                           true,
		`max by (queue) (sqluice_jobs)`:                          true,
		`rate(sqluice_jobs[5m])`:                                 true,
		`sum(sqluice_attempts_total)`:                            true,
		`sum(rate(sqluice_run_seconds[5m]))`:                     true,
		`sum(up)`:                                                true,
	} {
		if faults := faultsOf(query, series, map[string]bool{}); (len(faults) > 0) != faulty {
			t.Errorf("%s: %v", query, faults)
		}
	}
}
