package metrics_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
)

var update = flag.Bool("update", false, "rewrite the table in docs/metrics.md")

const (
	document   = "../docs/metrics.md"
	tableBegin = "<!-- the table: written by `go test ./metrics -update`, from the code -->\n"
	tableEnd   = "<!-- end of the table -->\n"
)

// TestTableHasAllMetrics checks that the table lists exactly the metrics that a run on SQLite exports, each with its type, labels and help.
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
		t.Fatalf("%s lacks the comments around its table", document)
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
			t.Errorf("%s has a line that no metric has: %s", document, line)
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

// everything makes the queue export each metric.
// unknownVersion leaves a live worker that does not know a version that another program has declared.
func (l *lab) unknownVersion() {
	l.Helper()
	runner := func(version int) *jobs.Runner {
		r, err := jobs.NewRunner(l.client, jobs.Config{Logger: slog.New(slog.DiscardHandler)})
		l.must(err)
		jobs.Kind[json.RawMessage]{Name: "versioned", Version: version}.Handle(r, func(context.Context, jobs.Job, json.RawMessage) error { return nil })
		return r
	}
	l.must(runner(2).Drain(l.ctx))
	ctx, stop := context.WithCancel(l.ctx)
	ended := make(chan error, 1)
	older := runner(1)
	go func() { ended <- older.Run(ctx) }()
	l.Cleanup(func() {
		stop()
		l.must(<-ended)
	})
	for l.gather()["sqluice_unknown_payload_version"] == nil {
		select {
		case err := <-ended:
			ended <- err
			l.Fatalf("the runner ended: %v", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func everything(l *lab) {
	l.Helper()
	l.enqueue("good", jobs.Unique("u"))
	l.enqueue("good", jobs.Unique("u"))
	l.enqueue("bad")
	l.enqueue("nobody's")
	l.enqueue("nobody's", jobs.LimitKey("key"))
	l.crash("crashed")
	l.enqueue("late", jobs.StartWithin(time.Millisecond))
	time.Sleep(2 * time.Millisecond) // until it is too late to start it
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
	l.must(l.client.PutSchedule(l.ctx, jobs.NewSchedule("s", "@yearly", "nobody's", nil)))
	l.unknownVersion()
	l.gather() // reading the queue counts its own statements
}
