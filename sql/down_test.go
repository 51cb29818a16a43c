package sql_test

import (
	"fmt"
	"strings"
	"testing"

	port "github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// A successor that the schema before successors cannot hold is cancelled, like a job that a person cancels: it is counted, and keeps its
// due time.
func TestSuccessorsGoingDown(t *testing.T) {
	onEachEngine(t, func(t *testing.T, e engine) {
		w := worlds(t, e)(t)
		for range 2 {
			_, err := w.client.Enqueue(w.ctx, "k", []byte("1"), jobs.UniqueAgain("u"))
			w.must("enqueue", err)
			w.must("claim", w.exec("UPDATE sqluice_jobs SET status = 'running', attempt = 1, worker_id = 1, lease_until = 0, started_at = created_at WHERE successor_at IS NULL"))
		}
		if n := scan[int](t, w.plain, "SELECT COUNT(*) FROM sqluice_jobs WHERE successor_at IS NOT NULL"); n != 1 {
			t.Fatalf("there are %d successors", n)
		}
		migrateDownTo(t, w, "00014_unique.sql")
		if _, err := w.client.Migrate(w.ctx); err != nil {
			t.Fatal(err)
		}
		list := rows(t, w.plain, "SELECT status, run_after - created_at FROM sqluice_jobs ORDER BY id")
		if fmt.Sprint(list) != "[[running 0] [cancelled 0]]" {
			t.Errorf("the jobs, with the time between their enqueue and when they were due, are %v", list)
		}
		counts, err := inspect.New(w.client).Counts(w.ctx)
		w.must("count", err)
		var cancelled int64
		for _, c := range counts {
			if c.Status == jobs.StatusCancelled {
				cancelled += c.Jobs
			}
		}
		if cancelled != 1 {
			t.Errorf("%d cancelled jobs are counted", cancelled)
		}
	})
}

// Rows of the application that refer to jobs stay, whatever happens to the queue's tables on the way.
func TestApplicationsRowsGoingDown(t *testing.T) {
	e := sqliteEngine() // PostgreSQL changes its tables in place
	w := worlds(t, e)(t)
	id, err := w.client.Enqueue(w.ctx, "k", []byte("1"))
	w.must("enqueue", err)
	for _, action := range []string{"", "ON DELETE CASCADE", "ON DELETE SET NULL"} {
		table := fmt.Sprintf("invoices_%d", len(action))
		w.must("make a table", w.exec("CREATE TABLE "+table+" (job INTEGER REFERENCES sqluice_jobs (id) "+action+")"))
		w.must("add a row", w.exec(fmt.Sprintf("INSERT INTO %s (job) VALUES (%d)", table, id.ID)))
	}
	migrateDownTo(t, w, "00003_complete_jobs.sql")
	migrateDownTo(t, w, "00002_priority_run_after.sql")
	if _, err := port.StoreOf(w.store).Migrations().MigrateDown(w.ctx); err == nil || !strings.Contains(err.Error(), "FOREIGN KEY") {
		t.Errorf("the table goes while rows refer to it: %v", err)
	}
	if _, err := w.client.Migrate(w.ctx); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"invoices_0", "invoices_17", "invoices_18"} {
		if list := rows(t, w.plain, "SELECT i.job FROM "+table+" AS i JOIN sqluice_jobs AS j ON j.id = i.job"); fmt.Sprint(list) != fmt.Sprintf("[[%d]]", id.ID) {
			t.Errorf("the application's table %s has the rows %v", table, list)
		}
	}
	if list := rows(t, w.plain, "PRAGMA foreign_key_check"); len(list) != 0 {
		t.Errorf("rows that refer to nothing: %v", list)
	}
}

// migrateDownTo undoes migrations down to and including one.
func migrateDownTo(t *testing.T, w *world, last string) {
	t.Helper()
	for {
		name, err := port.StoreOf(w.store).Migrations().MigrateDown(w.ctx)
		if err != nil {
			t.Fatal(err)
		}
		switch name {
		case last:
			return
		case "":
			t.Fatalf("there is no migration %s", last)
		}
	}
}
