package promql_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
)

// queries returns the queries of the dashboard's panels, by panel, and of its variables.
func queries(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../../docs/grafana/sqluice.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ RefID, Expr string }
		}
		Templating struct {
			List []struct {
				Name, Type string
				Query      json.RawMessage
			}
		}
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			found[p.Title+" "+target.RefID] = target.Expr
		}
	}
	for _, v := range dashboard.Templating.List {
		if v.Type != "query" {
			continue
		}
		var query struct{ Query string }
		if err := json.Unmarshal(v.Query, &query); err != nil {
			t.Fatal(err)
		}
		match := regexp.MustCompile(`^label_values\((.+), \w+\)$`).FindStringSubmatch(query.Query)
		if match == nil {
			t.Fatalf("the variable %s is %s", v.Name, query.Query)
		}
		found["the variable "+v.Name] = match[1]
	}
	if len(found) < 10 {
		t.Fatalf("the dashboard has the queries %v", found)
	}
	return found
}

// filled returns a query with the dashboard's variables replaced as Grafana does.
func filled(query string) string {
	query = strings.NewReplacer("$__rate_interval", "1m0s", "$__interval", "30s", "$__range", "1h").Replace(query)
	return regexp.MustCompile(`\$\w+`).ReplaceAllString(query, "a|b")
}

// TestPrometheusReadsTheQueries: Prometheus parses each query, and its result is a vector, which a panel can draw.
func TestPrometheusReadsTheQueries(t *testing.T) {
	for where, query := range queries(t) {
		expr, err := parser.ParseExpr(filled(query))
		if err != nil {
			t.Errorf("%s: %s: %v", where, query, err)
			continue
		}
		if sort := expr.Type(); sort != parser.ValueTypeVector {
			t.Errorf("%s: %s gives a %s", where, query, sort)
		}
	}
	// The parser finds faults.
	for _, wrong := range []string{`sum(rate(sqluice_jobs))`, `max(sqluice_jobs{status="failed"}`, `histogram_quantile(sqluice_jobs)`, `sum(up[$nothing])`} {
		if _, err := parser.ParseExpr(filled(wrong)); err == nil {
			t.Errorf("%s is no fault", wrong)
		}
	}
}
