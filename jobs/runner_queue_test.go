package jobs_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
)

// lines receives the lines of a log.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}

// A handler for a kind whose queue the runner does not claim from gets no job: the log says so at the start.
func TestAKindWhoseQueueTheRunnerLacksIsLogged(t *testing.T) {
	log := make(lines, 100)
	runner, err := jobs.NewRunner(jobs.New(testdb.SQLite(t)), jobs.Config{
		Queues: map[string]int{"mail": 1}, Logger: slog.New(slog.NewTextHandler(log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	for kind, queue := range map[string]string{"thumbnail": "media", "letter": "mail", "plain": ""} {
		jobs.Kind[int]{Name: kind, Queue: queue}.Handle(runner, func(context.Context, jobs.Job, int) error { return nil })
	}
	if err := runner.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	for late := time.After(time.Minute); ; {
		select {
		case line := <-log:
			if !strings.Contains(line, "level=WARN") {
				continue
			}
			if !strings.Contains(line, "not one of the runner's queues") || !strings.Contains(line, "kind=thumbnail queue=media") {
				t.Errorf("the log warns: %s", line)
			}
			return
		case <-late:
			t.Fatal("the log has no warning")
		}
	}
}
