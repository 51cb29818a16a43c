package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sqluice/sqluice/cmd/sqluice/internal/address"
	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// copyTests run from each engine to the other, and within SQLite. Each gets two queues without jobs.
func copyTests() map[string]func(t *testing.T, from, to *cli) {
	return map[string]func(t *testing.T, from, to *cli){
		"AQueueIsMoved":                      aQueueIsMoved,
		"ACopyLeavesBothOpen":                aCopyLeavesBothOpen,
		"AKilledCopyGoesOn":                  aKilledCopyGoesOn,
		"ACopyKilledAtItsBeginningCanBeLeft": aCopyKilledAtItsBeginningCanBeLeft,
		"ALiveWorkerIsNamed":                 aLiveWorkerIsNamed,
		"CopyRefuses":                        copyRefuses,
		"DownKeepsAClosedQueue":              downKeepsAClosedQueue,
	}
}

func TestCopyWithinSQLite(t *testing.T) {
	for name, test := range copyTests() {
		t.Run(name, func(t *testing.T) { test(t, queueFile(t), queueFile(t)) })
	}
}

func TestCopyToAndFromPostgres(t *testing.T) {
	if testing.Short() {
		t.Skip("package move tests the same on both engines, and TestCopyWithinSQLite the command")
	}
	server := newServer(t)
	for name, test := range copyTests() {
		t.Run("To/"+name, func(t *testing.T) { test(t, queueFile(t), server.queue(t)) })
		t.Run("From/"+name, func(t *testing.T) { test(t, server.queue(t), queueFile(t)) })
	}
	t.Run("PasswordsStayOut", func(t *testing.T) { passwordsStayOut(t, queueFile(t), server.queue(t)) })
}

// A target without the tables is refused with the command that makes them, and columns of the owner with the flag that drops their values.
func TestCopyNamesTheWayOut(t *testing.T) {
	from, to := queueFile(t), newCLI(t)
	if err := os.WriteFile(to.db, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	from.fails(exitFailure, []string{"target " + to.db, "no sqluice schema", "here `sqluice up --db " + to.db + "`"}, copyArgs(from, to)...)
	to.ok("up")
	from.ok("enqueue", "k")
	pool, err := sql.Open("sqlite", from.db)
	if err == nil {
		_, err = pool.ExecContext(t.Context(), `ALTER TABLE sqluice_jobs ADD COLUMN region TEXT DEFAULT 'north'`)
		err = errors.Join(err, pool.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	from.fails(exitFailure, []string{"columns that you have added are not copied", "sqluice_jobs.region", "--drop-columns"}, copyArgs(from, to)...)
	if out := from.ok(copyArgs(from, to, "--drop-columns")...); !strings.Contains(out, "left behind: sqluice_jobs.region") {
		t.Errorf("copy prints %q", out)
	}
}

func queueFile(t *testing.T) *cli {
	t.Helper()
	c := newCLI(t)
	c.ok("up")
	return c
}

func copyArgs(from, to *cli, more ...string) []string {
	return append([]string{"copy", "--from", from.db, "--to", to.db}, more...)
}

// look reads from a queue's database.
func look[T any](c *cli, read func(ctx context.Context, q db.Querier) (T, error)) T {
	c.t.Helper()
	var value T
	err := c.onStore(func(store jobs.Store) error {
		return engine.StoreOf(store).Read(c.t.Context(), func(ctx context.Context, q db.Querier) (err error) {
			value, err = read(ctx, q)
			return err
		})
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return value
}

func (c *cli) onStore(fn func(jobs.Store) error) error {
	d, err := address.Parse(c.db)
	if err != nil {
		return err
	}
	store, err := openDatabase(c.t.Context(), d, nil)
	if err != nil {
		return err
	}
	return errors.Join(fn(store), closeStore(store))
}

func lastJob(c *cli) int64 {
	return look(c, func(ctx context.Context, q db.Querier) (int64, error) {
		last, err := q.GetLastIDs(ctx)
		return last.Job, err
	})
}

func moves(c *cli) []db.Move {
	return look(c, func(ctx context.Context, q db.Querier) ([]db.Move, error) { return q.ListMoves(ctx) })
}

// wantClosed checks the output of commands about a closed queue.
func (c *cli) wantClosed(peer string) {
	c.t.Helper()
	closed := []string{"closed by a move", peer}
	c.fails(exitFailure, closed, "enqueue", "k")
	c.failsWith(exitFailure, "{}\n{}\n", closed, "enqueue", "k", "--stdin")
	c.fails(exitFailure, closed, "work", "--drain", "--exec", execFlag(c.t, "k", "echo"))
}

func aQueueIsMoved(t *testing.T, from, to *cli) {
	for _, args := range [][]string{
		{"fails", "{}", "--max-attempts", "1"}, {"echo", `{"a":  1}`, "--tag", "t", "--request-id", "r"},
		{"k", `"x"`, "--unique", "u", "--queue", "q", "--priority", "3"}, {"k", "{}", "--in", "1h"}, {"k", "{}"},
	} {
		from.enqueue(args...)
	}
	from.drain(execFlag(t, "echo", "echo"), execFlag(t, "fails", "fail", "3", "broken", "1"))
	from.ok("cancel", "5")
	from.ok("queues", "pause", "q")
	var before [5]jobDetails
	for i := range before {
		before[i] = from.show(fmt.Sprint(i + 1))
	}

	out := to.ok(copyArgs(from, to)...)
	for _, text := range []string{"sqluice_jobs            source  5 ", "sqluice_job_errors      target  1 ", "sqluice_workers         target  1 ", "sqluice_pauses          source  1 ", "moved: ", "sqluice reopen --db "} {
		if !strings.Contains(out, text) {
			t.Errorf("copy does not print %q:\n%s", text, out)
		}
	}
	for i := range before {
		have, haveErr := json.Marshal(to.show(fmt.Sprint(i + 1)))
		want, wantErr := json.Marshal(before[i])
		if haveErr != nil || wantErr != nil || string(have) != string(want) {
			t.Errorf("a job has become\n%s, from\n%s", have, want)
		}
	}
	if id := to.enqueue("k", "--request-id", "new"); id != "6" && id != "7" { // SQLite keeps the last id by a row behind it
		t.Errorf("the next job is %s", id)
	}
	if a := to.run("enqueue", "echo", "--request-id", "r"); strings.TrimSpace(a.out) != "2" {
		t.Errorf("the request of job 2 gives %q", a.out)
	}
	from.wantClosed("it is in ")

	if out := to.ok(copyArgs(from, to)...); !strings.Contains(out, "nothing to copy") {
		t.Errorf("a second copy prints %q", out)
	}
	from.fails(exitFailure, []string{"target ", "as they were at that move", "sqluice reopen --db ", "new, empty database"}, copyArgs(to, from)...)
	if out := from.ok("reopen"); !strings.Contains(out, "opened") {
		t.Errorf("reopen prints %q", out)
	}
	if out := from.ok("reopen"); !strings.Contains(out, "the queue is open") {
		t.Errorf("a second reopen prints %q", out)
	}
	from.enqueue("k")
}

func aCopyLeavesBothOpen(t *testing.T, from, to *cli) {
	from.enqueue("k")
	if out := to.ok(copyArgs(from, to, "--keep-open")...); !strings.Contains(out, "copied: ") || strings.Contains(out, "reopen") {
		t.Errorf("copy prints %q", out)
	}
	for _, c := range []*cli{from, to} {
		if id := c.enqueue("k"); id <= "1" {
			t.Errorf("%s gives id %s", c.db, id)
		}
	}
}

// large enqueues jobs that take several transactions to copy.
func (c *cli) large(n int) {
	c.t.Helper()
	line := `"` + strings.Repeat("x", 500<<10) + `"` + "\n"
	if a := c.runWith(strings.NewReader(strings.Repeat(line, n)), "enqueue", "k", "--stdin"); a.code != exitOK {
		c.t.Fatal(a.err)
	}
}

// The position at which the process is killed differs from run to run; the next run must always continue.
func aKilledCopyGoesOn(t *testing.T, from, to *cli) {
	const n = 24
	from.large(n)
	for _, killed := range []func() bool{
		func() bool { return len(moves(from)) > 0 },
		func() bool { return len(moves(to)) > 0 || lastJob(to) == n },
		func() bool { return lastJob(to) > 0 },
		func() bool { return lastJob(to) > n/2 },
		func() bool { return lastJob(to) == n },
	} {
		p := from.start(copyArgs(from, to)...)
		eventually(t, "the copy has come so far", killed)
		if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Fatal(err)
		}
		_ = p.waited() // that it was killed
	}
	p := from.start(copyArgs(from, to)...)
	p.wantExit(exitOK)
	if len(moves(to)) > 0 || lastJob(to) != n {
		t.Errorf("in the end the target is closed by %+v and has jobs up to %d", moves(to), lastJob(to))
	}
	to.drain(execFlag(t, "k", "print", "1"))
	if s := get[inspect.Stats](to, "stats"); s.Jobs[jobs.StatusDone] != n {
		t.Errorf("after the drain there are %+v", s.Jobs)
	}
	done := look(to, func(ctx context.Context, q db.Querier) ([]db.Job, error) {
		return q.ListJobsFrom(ctx, db.ListJobsFromParams{N: n + 1})
	})
	for i, job := range done {
		if job.ID != int64(i+1) || job.Attempt-job.Uncounted != 1 {
			t.Errorf("job %d is number %d and had %d attempts", job.ID, i+1, job.Attempt)
		}
	}
	if len(done) != n {
		t.Errorf("there are %d jobs", len(done))
	}
	from.wantClosed("it is in ")
}

var errNotKept = errors.New("roll back")

// writing holds a transaction open on a queue until done.
func (c *cli) writing() (done func()) {
	c.t.Helper()
	began, end, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- c.onStore(func(store jobs.Store) error {
			return engine.StoreOf(store).Write(c.t.Context(), func(ctx context.Context, q db.Querier) error {
				_, err := q.EnqueueJob(ctx, db.EnqueueJobParams{Kind: "k", Queue: "default", Payload: "{}", Status: "pending", MaxAttempts: 1})
				close(began)
				<-end
				return errors.Join(err, errNotKept)
			})
		})
	}()
	<-began
	return func() {
		c.t.Helper()
		close(end)
		if err := <-ended; !errors.Is(err, errNotKept) {
			c.t.Error(err)
		}
	}
}

// The target's open transaction stops the copy after the source is closed.
func aCopyKilledAtItsBeginningCanBeLeft(t *testing.T, from, to *cli) {
	from.enqueue("k")
	for range 2 {
		done := to.writing()
		p := from.start(copyArgs(from, to)...)
		eventually(t, "the source is closed", func() bool { return len(moves(from)) > 0 })
		if err := p.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = p.waited() // that it was killed
		done()
		from.wantClosed("that is not complete")
		if out := from.ok("reopen"); !strings.Contains(out, "given up") {
			t.Errorf("reopen prints %q", out)
		}
		from.enqueue("k")
		to.ok("reopen") // it had been closed, or not
	}
	to.ok(copyArgs(from, to)...)
	if n := lastJob(to); n != 3 {
		t.Errorf("the target has jobs up to %d", n)
	}
}

func aLiveWorkerIsNamed(t *testing.T, from, to *cli) {
	dir := t.TempDir()
	id := from.enqueue("k")
	worker := from.start("work", "--drain", "--name", "busy", "--exec", execFlag(t, "k", "hang", dir))
	hanging(t, dir, id)
	from.fails(exitFailure, []string{"source ", "workers are alive: stop them first", `"busy"`}, copyArgs(from, to)...)
	from.enqueue("other") // the queue is open
	if err := worker.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = worker.waited() // that it was killed
	eventually(t, "the server has noticed that the worker is gone", func() bool {
		a := to.run(copyArgs(from, to)...)
		if a.code != 0 && !strings.Contains(a.err, "workers are alive") {
			t.Fatalf("copy says %s", a.err)
		}
		return a.code == 0
	})
	if job := to.show(id); job.Status != jobs.StatusPending || job.Crashes != 1 || len(job.Errors) != 1 || job.Errors[0].Cause != jobs.CauseCrash {
		t.Errorf("the killed worker's job is %+v", job)
	}
}

func copyRefuses(t *testing.T, from, to *cli) {
	missing := filepath.Join(t.TempDir(), "missing.db")
	from.fails(exitFailure, []string{"--from ", missing, "no such database"}, "copy", "--from", missing, "--to", to.db)
	from.fails(exitFailure, []string{"--to ", missing, "no such database", "`sqluice up --db " + missing + "`"}, "copy", "--from", from.db, "--to", missing)
	if a := from.run("copy", "--from", missing, "--to", to.db); strings.Contains(a.err, "--db") || strings.Contains(a.err, "sqluice up") {
		t.Errorf("without a source the advice is %s", a.err)
	}
	if exists(missing) {
		t.Error("copy has made a file")
	}
	from.fails(exitFailure, []string{"the same database"}, copyArgs(from, from)...)
	to.ok("down")
	from.fails(exitFailure, []string{"target ", "older", "sqluice up"}, copyArgs(from, to)...)
	from.fails(exitFailure, []string{"source ", "older", "sqluice up"}, copyArgs(to, from)...)
	to.fails(exitFailure, []string{"older", "sqluice up"}, "reopen")
	to.ok("up")
	to.enqueue("k")
	from.fails(exitFailure, []string{"target ", "must be empty, and has jobs", "sqluice up"}, copyArgs(from, to)...)

	third := queueFile(t)
	to.ok(copyArgs(from, third)...)
	from.fails(exitFailure, []string{"source ", "moved to " + third.db, "sqluice reopen --db "}, copyArgs(from, to)...)
}

// A schema without the record of the move would let the queue's jobs run a second time.
func downKeepsAClosedQueue(t *testing.T, from, to *cli) {
	const closing = 8 // the version that knows
	from.enqueue("k")
	from.ok(copyArgs(from, to)...)
	for get[schemaStatus](from, "status").Schema > closing {
		from.ok("down")
	}
	from.fails(exitFailure, []string{"the queue is closed by a move: reopen it first"}, "down")
	if s := get[schemaStatus](from, "status"); s.Schema != closing {
		t.Errorf("the schema is version %d", s.Schema)
	}
	from.ok("up")
	from.wantClosed("it is in ")
	from.ok("reopen")
	for get[schemaStatus](from, "status").Schema >= closing {
		from.ok("down")
	}
	from.ok("up")
	from.enqueue("k")
}

func TestCopyUsage(t *testing.T) {
	c := newCLI(t)
	for args, texts := range map[string][]string{
		"copy":                                  {"--from is missing"},
		"copy --from a.db":                      {"--to is missing"},
		"copy --from a.db --to b.db --db c.db":  {"--db is not for copy"},
		"copy --from a.db --to b.db c.db":       {`"c.db"`},
		"copy --from file:a --to b.db":          {`--from "file:a"`, "PATH"},
		"copy --from a.db --to mysql://u:p@h/d": {`--to "mysql://..."`, "PATH"},
		"reopen a.db":                           {`"a.db"`},
	} {
		c.fails(exitUsage, texts, strings.Fields(args)...)
	}
	c.fails(exitFailure, []string{"no such database"}, "reopen")
}

// Every user of the queue can read the table with the other side's name.
func passwordsStayOut(t *testing.T, from, to *cli) {
	to.db = strings.Replace(to.db, "@", ":secret@", 1)
	if !strings.Contains(to.db, "secret") {
		t.Skip("the server's address names no user")
	}
	answers := []answer{from.run(copyArgs(from, to)...), from.run(copyArgs(from, to)...), from.run("enqueue", "k")}
	for _, a := range answers {
		if strings.Contains(a.out+a.err, "secret") {
			t.Errorf("the password is shown:\n%s%s", a.out, a.err)
		}
	}
	for _, row := range moves(from) {
		if strings.Contains(row.Peer, "secret") || !strings.Contains(row.Peer, "postgres://") {
			t.Errorf("the other side is kept as %q", row.Peer)
		}
	}
	if answers[0].code != exitOK || answers[1].code != exitOK || len(moves(from)) != 1 {
		t.Errorf("the copy ends with %+v", answers[:2])
	}
}

func TestWordsForShells(t *testing.T) {
	for text, want := range map[string]string{
		"jobs.db": "jobs.db", "a b": "'a b'", "it's": `'it'\''s'`, "postgres://u@h/d?schema=s&port=1": "'postgres://u@h/d?schema=s&port=1'",
	} {
		if have := shellQuoted(text); have != want {
			t.Errorf("%s is %s, not %s", text, have, want)
		}
	}
}
