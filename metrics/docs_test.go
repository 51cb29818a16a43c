package metrics_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"

	"github.com/sqluice/sqluice/internal/testdb"
	"github.com/sqluice/sqluice/jobs"
)

var update = flag.Bool("update", false, "write the table of docs/metrics.md anew")

const (
	document   = "../docs/metrics.md"
	tableBegin = "<!-- the table: written by `go test ./metrics -update`, from the code -->\n"
	tableEnd   = "<!-- end of the table -->\n"
)

// The table has all metrics that a run on SQLite exports, and no other, each with its type, labels and help.
func TestTableHasAllMetrics(t *testing.T) {
	l := newLab(t)
	everything(l)
	families := l.gather()
	var have strings.Builder
	have.WriteString("| name | type | labels | meaning |\n|---|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(families)) {
		family := families[name]
		fmt.Fprintf(&have, "| `%s` | %s | %s | %s |\n", name, strings.ToLower(family.GetType().String()), labelsOf(family), family.GetHelp())
	}
	text, err := os.ReadFile(document)
	l.must(err)
	before, rest, begins := strings.Cut(string(text), tableBegin)
	table, after, ends := strings.Cut(rest, tableEnd)
	if !begins || !ends {
		t.Fatalf("%s has no marks about its table", document)
	}
	if *update {
		l.must(os.WriteFile(document, []byte(before+tableBegin+have.String()+tableEnd+after), 0o644))
		return
	}
	lines := strings.Split(table, "\n")
	for _, line := range strings.Split(have.String(), "\n") {
		if !slices.Contains(lines, line) {
			t.Errorf("%s lacks: %s", document, line)
		}
	}
	for _, line := range lines {
		if !slices.Contains(strings.Split(have.String(), "\n"), line) {
			t.Errorf("%s has what is not exported: %s", document, line)
		}
	}
}

func labelsOf(family *dto.MetricFamily) string {
	var names []string
	for _, pair := range family.GetMetric()[0].GetLabel() {
		names = append(names, "`"+pair.GetName()+"`")
	}
	return strings.Join(names, ", ")
}

// everything has each metric exported once.
func everything(l *lab) {
	l.Helper()
	l.enqueue("good", jobs.Unique("u"))
	l.enqueue("good", jobs.Unique("u"))
	l.enqueue("bad")
	l.enqueue("nobody's")
	l.crash("crashed")
	l.drain(map[string]func(context.Context, jobs.Job) error{
		"good": nothing, "crashed": nothing, "bad": func(context.Context, jobs.Job) error { return errors.New("broken") },
	})
	if _, err := l.client.PauseQueue(l.ctx, "slow"); err != nil {
		l.Fatal(err)
	}
	refuse, err := os.ReadFile("testdata/refuse_jobs.sql")
	l.must(err)
	_, err = testdb.PlainSQLite(l.T, l.store.Path()).ExecContext(l.ctx, string(refuse))
	l.must(err)
	if _, err := l.client.Enqueue(l.ctx, "refused", json.RawMessage("{}")); err == nil {
		l.Fatal("the job was not refused")
	}
	l.gather() // so that what the reading of the queue told is there at the next
}
