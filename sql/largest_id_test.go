package sql_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"testing"

	"github.com/sqluice/sqluice/jobs"
)

// A row that plain SQL gives one of the largest ids leaves few or none for new jobs. The next enqueue names the row and says what to do, and
// that helps, also where there is no other row.
func TestTheLargestIDIsNamed(t *testing.T) {
	const largest = 9007199254740991
	onEachEngine(t, func(t *testing.T, e engine) {
		make := worlds(t, e)
		for _, planted := range []int64{largest, largest - 1} {
			for _, others := range []int{0, 1} {
				t.Run(fmt.Sprintf("%d beside %d", planted, others), func(t *testing.T) {
					w := make(t)
					add := func() (int64, error) {
						receipt, err := w.client.Enqueue(w.ctx, "k", []byte("{}"))
						return receipt.ID, err
					}
					for range others {
						_, err := add()
						w.must("enqueue", err)
					}
					plant := fmt.Sprintf("INSERT INTO sqluice_jobs (id, kind) VALUES (%d, 'planted')", planted)
					if e.name == "postgres" {
						plant = strings.Replace(plant, "VALUES", "OVERRIDING SYSTEM VALUE VALUES", 1)
					}
					w.must("plant", w.exec(plant))
					_, err := w.client.Migrate(w.ctx) // which moves PostgreSQL's sequence past the row
					w.must("migrate", err)
					for range largest - planted {
						_, err := add()
						w.must("enqueue with the last ids", err)
					}
					_, one := add()
					_, many := w.client.EnqueueMany(w.ctx, "k", []json.RawMessage{[]byte("1"), []byte("2")})
					for what, err := range map[string]error{"an enqueue": one, "an enqueue of many": many} {
						if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("the row of sqluice_jobs with the id %d", int64(largest))) {
							t.Fatalf("%s gives %v", what, err)
						}
					}
					_, remedy, said := strings.Cut(one.Error(), "smaller ids: ")
					remedy, _, ended := strings.Cut(remedy, "'running' (")
					if !said || !ended {
						t.Fatalf("%v has no remedy", one)
					}
					for statement := range strings.SplitSeq(remedy+"'running'", "; ") {
						w.must(statement, w.exec(statement))
					}
					_, err = w.client.Migrate(w.ctx)
					w.must("migrate again", err)
					next, err := add()
					if err != nil || next > 10 {
						t.Errorf("after the remedy an enqueue gives the id %d: %v", next, err)
					}
				})
			}
		}
	})
}

// The same of the tables that the queue itself writes, where SQLite gives a new row the largest id and one.
func TestTheLargestIDsOfOtherTablesAreNamed(t *testing.T) {
	heal := func(w *world, text string) {
		remedy := regexp.MustCompile(`near it: (.*) \((?:[a-z ]+: )?constraint failed`).FindStringSubmatch(text)
		if remedy == nil {
			w.Fatalf("%q has no remedy", text)
		}
		for statement := range strings.SplitSeq(remedy[1], "; ") {
			w.must(statement, w.exec(statement))
		}
	}
	make := worlds(t, sqliteEngine())
	t.Run("audit", func(t *testing.T) {
		w := make(t)
		w.must("plant", w.exec(`INSERT INTO sqluice_job_audit (id, at, actor, action, jobs) VALUES (9007199254740991, 0, 'a', 'pause', 0)`))
		acting := jobs.WithActor(w.ctx, "ann")
		_, err := w.client.PauseQueue(acting, "q")
		heal(w, fmt.Sprint(err))
		_, err = w.client.PauseQueue(acting, "q")
		w.must("pause", err)
	})
	t.Run("workers", func(t *testing.T) {
		w := make(t)
		w.must("plant", w.exec(`INSERT INTO sqluice_workers (id, name, lock_key, host, pid, version, queues, kinds, started_at, heartbeat_at, lease_until, ended_at, end_reason)
			VALUES (9007199254740991, 'w', '1', 'h', 1, 'v', '{}', '[]', 0, 0, 0, 0, 'crash')`))
		runner, err := jobs.NewRunner(w.client, jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 1}, Logger: w.failing()})
		if err != nil {
			t.Fatal(err)
		}
		jobs.Kind[json.RawMessage]{Name: "k"}.Handle(runner, func(context.Context, jobs.Job, json.RawMessage) error { return nil })
		heal(w, fmt.Sprint(runner.Run(w.ctx)))
		w.goesOn()
	})
	t.Run("errors", func(t *testing.T) {
		w := make(t)
		w.must("plant", w.exec(`INSERT INTO sqluice_job_errors (id, job_id, attempt, ended_at, cause, message) VALUES (9007199254740991, 1000, 1, 0, 'error', '')`))
		w.fails(func(text string) { heal(w, text) })
	})
}

// fails runs a job that fails, and has heal help when the log says that no id is left.
func (w *world) fails(heal func(text string)) {
	w.Helper()
	receipt, err := w.client.Enqueue(w.ctx, "fails", json.RawMessage(`{}`), jobs.MaxAttempts(1))
	w.must("enqueue", err)
	said := make(chan string, 1000)
	runner, err := jobs.NewRunner(w.client, jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 1}, Logger: slog.New(slog.NewTextHandler(channel(said), nil))})
	if err != nil {
		w.Fatal(err)
	}
	jobs.Kind[json.RawMessage]{Name: "fails"}.Handle(runner, func(context.Context, jobs.Job, json.RawMessage) error { return errors.New("no") })
	ctx, cancel := context.WithCancel(w.ctx)
	ended := make(chan error, 1)
	go func() { ended <- runner.Run(ctx) }()
	for healed := false; !healed; {
		select {
		case text := <-said:
			if healed = strings.Contains(text, "no id is left"); healed {
				heal(text)
			}
		case err := <-ended:
			w.Fatalf("the runner ended: %v", err)
		case <-w.ctx.Done():
			w.Fatal("nothing said that no id is left")
		}
	}
	job, err := w.client.Wait(w.ctx, receipt.ID)
	if err != nil || job.Status != jobs.StatusFailed {
		w.Errorf("the job is %s after %v", job.Status, err)
	}
	cancel()
	w.must("run", <-ended)
}

// channel is a writer that sends what is written while there is room.
type channel chan string

func (c channel) Write(text []byte) (int, error) {
	select {
	case c <- string(text):
	default:
	}
	return len(text), nil
}
