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
	"time"

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
					_, err := w.client.Migrate(w.ctx) // it moves PostgreSQL's sequence past the row
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

// The same for the tables that the queue itself writes, where SQLite gives a new row the largest id and one.
func TestTheLargestIDsOfOtherTablesAreNamed(t *testing.T) {
	make := worlds(t, sqliteEngine())
	t.Run("audit", func(t *testing.T) {
		w := make(t)
		w.must("plant", w.exec(`INSERT INTO sqluice_job_audit (id, at, actor, action, jobs) VALUES (9007199254740991, 0, 'a', 'pause', 0)`))
		acting := jobs.WithActor(w.ctx, "ann")
		_, err := w.client.PauseQueue(acting, "q")
		w.heal(fmt.Sprint(err))
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
		w.heal(fmt.Sprint(runner.Run(w.ctx)))
		w.goesOn()
	})
	t.Run("errors", func(t *testing.T) {
		w := make(t)
		w.must("plant", w.exec(`INSERT INTO sqluice_job_errors (id, job_id, attempt, ended_at, cause, message) VALUES (9007199254740991, 1000, 1, 0, 'error', '')`))
		receipt, err := w.client.Enqueue(w.ctx, "k", json.RawMessage(`{}`), jobs.MaxAttempts(1))
		w.must("enqueue", err)
		w.healsOnTheWay(receipt.ID, jobs.StatusFailed, "no id is left", func(context.Context, jobs.Job, json.RawMessage) error { return errors.New("no") })
	})
}

// A row that plain SQL gives the largest count is refused when the queue counts on. The error names the column and says what to do, other
// jobs go on, and the remedy helps.
func TestTheLargestCountsAreNamed(t *testing.T) {
	const claimed = `INSERT INTO sqluice_jobs (kind, status, attempt) VALUES ('k', 'pending', 1000000000)`
	tests := []struct {
		column  string
		plant   []string
		handler func(context.Context, jobs.Job, json.RawMessage) error
		attempt int // the attempt in which the job is done
	}{
		{"attempt", []string{claimed}, nil, 1},
		{"attempt", []string{claimed,
			`INSERT INTO sqluice_job_errors (job_id, attempt, ended_at, cause, message) VALUES (1, 7, 0, 'crash', '')`,
			`INSERT INTO sqluice_job_errors (job_id, attempt, ended_at, cause, message) VALUES (1, 1000000000, 0, 'error', '')`}, nil, 8},
		{"uncounted", []string{`INSERT INTO sqluice_jobs (kind, uncounted) VALUES ('k', 1000000000)`},
			func(_ context.Context, job jobs.Job, _ json.RawMessage) error {
				if job.Attempt == 1 {
					return jobs.Snooze(time.Millisecond)
				}
				return nil
			}, 2},
		{"crashes", []string{`INSERT INTO sqluice_jobs (kind, status, attempt, crashes) VALUES ('k', 'running', 1, 1000000000)`}, nil, 2},
		{"times", []string{claimed, `INSERT INTO sqluice_refusals (job_id, action, times, message, first_at, last_at, again_at) VALUES (1, 'claim', 1000000000, '', 0, 0, 0)`}, nil, 1},
	}
	onEachEngine(t, func(t *testing.T, e engine) {
		make := worlds(t, e)
		for _, test := range tests {
			t.Run(fmt.Sprint(test.column, " then attempt ", test.attempt), func(t *testing.T) {
				w := make(t)
				for _, statement := range test.plant {
					w.must(statement, w.exec(statement))
				}
				handler := test.handler
				if handler == nil {
					handler = func(context.Context, jobs.Job, json.RawMessage) error { return nil }
				}
				named := test.column + " of sqluice_"
				if e.name == "postgres" { // it only names the domain
					named = "attempt, uncounted and crashes of sqluice_jobs, and times of sqluice_refusals,"
				}
				job := w.healsOnTheWay(1, jobs.StatusDone, named+".* must be at most 1000000000", handler)
				if job.Attempt != test.attempt {
					t.Errorf("the job is done in attempt %d, not %d", job.Attempt, test.attempt)
				}
				w.goesOn()
			})
		}
	})
}

var remedy = regexp.MustCompile(`(?:near it|a smaller value): (.*?) \((?:[a-z ]+: )?(?:constraint failed|ERROR: )`)

// heal runs the statements that an error of the largest value ends with.
func (w *world) heal(text string) {
	w.Helper()
	found := remedy.FindStringSubmatch(text)
	if found == nil {
		w.Fatalf("%q has no remedy", text)
	}
	for statement := range strings.SplitSeq(found[1], "; ") {
		w.must(statement, w.exec(statement))
	}
}

// healsOnTheWay runs a job of the kind k, and heals each error that the log names on the way, at least one.
func (w *world) healsOnTheWay(id int64, want jobs.Status, named string, handler func(context.Context, jobs.Job, json.RawMessage) error) jobs.Job {
	w.Helper()
	names := regexp.MustCompile(named)
	said := make(chan string, 1000)
	runner, err := jobs.NewRunner(w.client, jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 1}, Logger: slog.New(slog.NewTextHandler(channel(said), nil))})
	if err != nil {
		w.Fatal(err)
	}
	jobs.Kind[json.RawMessage]{Name: "k"}.Handle(runner, handler)
	ctx, cancel := context.WithCancel(w.ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- runner.Run(ctx) }()
	waited := make(chan error, 1)
	var job jobs.Job
	go func() {
		var err error
		job, err = w.client.Wait(w.ctx, id)
		waited <- err
	}()
	var others []string // texts before the error that is looked for
	for healed, done := false, false; !healed || !done; {
		select {
		case text := <-said:
			if !remedy.MatchString(text) {
				continue
			}
			if others = append(others, text); healed || names.MatchString(text) {
				for _, text := range others {
					w.heal(text)
				}
				healed, others = true, nil
			}
		case err := <-waited:
			if done = true; err != nil || job.Status != want {
				w.Errorf("the job is %s after %v", job.Status, err)
			}
		case err := <-ended:
			w.Fatalf("the runner ended: %v", err)
		case <-w.ctx.Done():
			w.Fatalf("no error says %q", named)
		}
	}
	cancel()
	w.must("run", <-ended)
	return job
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
