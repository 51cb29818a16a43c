package promql_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
)

// TestPrometheusReadsTheAlerts: promtool's parser takes the rules of docs/alerts.yaml, and docs/metrics.md has each metric and label of them.
func TestPrometheusReadsTheAlerts(t *testing.T) {
	const file = "../../docs/alerts.yaml"
	groups, faults := rulefmt.ParseFile(file, false, model.UTF8Validation)
	for _, fault := range faults {
		t.Error(fault)
	}
	if groups == nil || len(groups.Groups) != 1 || len(groups.Groups[0].Rules) < 4 {
		t.Fatalf("the groups are %+v", groups)
	}
	page, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range groups.Groups[0].Rules {
		name := regexp.MustCompile(`sqluice_\w+`).FindString(rule.Expr)
		row := regexp.MustCompile("(?m)^\\| `" + name + "` .*$").FindString(string(page))
		if name == "" || row == "" {
			t.Errorf("%s: docs/metrics.md has no metric %q", rule.Alert, name)
		}
		for _, label := range regexp.MustCompile(`\$labels\.(\w+)`).FindAllStringSubmatch(strings.Join([]string{rule.Annotations["summary"], rule.Annotations["description"]}, " "), -1) {
			if !strings.Contains(row, "`"+label[1]+"`") || !strings.Contains(rule.Expr, label[1]) {
				t.Errorf("%s: its text has the label %s, which %s has not", rule.Alert, label[1], rule.Expr)
			}
		}
	}
	if _, faults := rulefmt.Parse([]byte("groups: [{name: a, rules: [{alert: b, expr: 'sum(rate(sqluice_jobs))'}]}]"), false, model.UTF8Validation); len(faults) == 0 {
		t.Error("a wrong expression is no fault")
	}
}
