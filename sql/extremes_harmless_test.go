package sql_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sqluice/sqluice/admin"
	"github.com/sqluice/sqluice/internal/move"
	port "github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
	"github.com/sqluice/sqluice/jobs/postgres"
	"github.com/sqluice/sqluice/metrics"
)

// world is a migrated database as the library and as another program use it.
type world struct {
	*testing.T
	ctx    context.Context
	e      engine
	store  jobs.Store
	client *jobs.Client
	plain  *sql.DB
	name   string
}

// worlds makes databases of an engine.
func worlds(t *testing.T, e engine) func(t *testing.T) *world {
	t.Helper()
	finish := func(t *testing.T, store jobs.Store, plain *sql.DB, name string) *world {
		ctx, cancel := context.WithTimeout(t.Context(), 2*hang)
		t.Cleanup(cancel)
		client := jobs.New(store)
		if _, err := client.Migrate(ctx); err != nil {
			t.Fatal(err)
		}
		return &world{t, ctx, e, store, client, plain, name}
	}
	if e.name == "sqlite" {
		return func(t *testing.T) *world {
			path := filepath.Join(t.TempDir(), "jobs.db")
			return finish(t, testdb.OpenSQLite(t, path), testdb.PlainSQLite(t, path), path)
		}
	}
	server := shared.Postgres(t)
	template := server.Migrated(t, func(url string) (jobs.Store, error) { return postgres.Open(t.Context(), url) })
	return func(t *testing.T) *world {
		url := server.Copy(t, template)
		store, err := postgres.Open(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = store.Close() }) // a second time where a test has closed it
		plain, err := sql.Open("pgx", url)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = plain.Close() })
		return finish(t, store, plain, url)
	}
}

func (w *world) must(what string, err error) {
	w.Helper()
	if err != nil {
		w.Errorf("%s: %v", what, err)
	}
}

func (w *world) exec(statement string, args ...any) error {
	_, err := w.plain.ExecContext(w.ctx, statement, args...)
	return err
}

// plant adds rows by plain SQL. The database may refuse some beside other plants: another has the key, say.
func (w *world) plant(plants []plant) {
	w.Helper()
	refused := 0
	for i, p := range plants {
		if err := p.do(w.e, fmt.Sprint("plant ", i), w.exec); err != nil {
			refused++
		}
	}
	if refused == len(plants) {
		w.Errorf("all %d values are refused that were taken before", refused)
	}
}

// A value that plain SQL may give a column is refused, or is harmless to all other jobs, lists and pages.
func TestExtremesAreRefusedOrHarmless(t *testing.T) {
	if testing.Short() {
		t.Skip("takes minutes: make test LONG=1")
	}
	targets := map[string]func(*testing.T) *world{"sqlite": worlds(t, sqliteEngine()), "postgres": worlds(t, postgresEngine(t))}
	onEachEngine(t, func(t *testing.T, e engine) {
		make := targets[e.name]
		garden := make(t)
		plants := (&gardener{T: t, e: e, pool: garden.plain}).plants()
		byTable := map[string][]plant{}
		var unportable, moves []plant
		for _, p := range plants {
			switch {
			case e.name == "sqlite" && p.column == "id" && p.value == int64(1<<53-1) && p.table != "sqluice_job_changes":
				// The tests of the largest ids cover it.
			case p.table == "sqluice_pauses" && p.column == "kind" && p.value == "":
				// It stops the whole queue, as it must.
			case p.table == "sqluice_moves":
				moves = append(moves, p)
			case portable(p):
				byTable[p.table] = append(byTable[p.table], p)
			default:
				unportable = append(unportable, p)
			}
		}
		check := func(t *testing.T, plants []plant) {
			w := make(t)
			w.plant(plants)
			w.looks()
			w.lowers(plants, w.goesOn())
			w.looks()
			w.copies(targets, portable(plants[0]))
			w.prunes()
		}
		for table, plants := range byTable {
			size := 500
			if table == "sqluice_workers" {
				size = 50 // a runner handles dead workers one by one, on PostgreSQL by a connection each
			}
			for i, part := range slices.Collect(slices.Chunk(plants, size)) {
				name := fmt.Sprint(table, " part ", i+1)
				if !t.Run(name, func(t *testing.T) { check(t, part) }) {
					narrow(t, name, part, check)
				}
			}
		}
		if len(unportable) > 0 && !t.Run("not portable", func(t *testing.T) { check(t, unportable) }) {
			narrow(t, "not portable", unportable, check)
		}
		t.Run("moves", func(t *testing.T) {
			w := make(t)
			w.must("enqueue", w.exec(`INSERT INTO sqluice_jobs (kind) VALUES ('k')`))
			for _, p := range moves {
				w.plant([]plant{p})
				if _, err := inspect.New(w.client).Why(w.ctx, 1); err != nil {
					t.Errorf("%s: why gives %v", p, err)
				}
				if _, err := inspect.New(w.client).Stats(w.ctx); err != nil {
					t.Errorf("%s: stats give %v", p, err)
				}
				if _, err := w.client.Enqueue(w.ctx, "k", json.RawMessage(`{}`)); !errors.Is(err, jobs.ErrMoved) {
					t.Errorf("%s: an enqueue gives %v", p, err)
				}
				w.must("open the queue", w.exec(`DELETE FROM sqluice_moves`))
			}
			w.looks()
		})
	})
}

// narrow finds one of the values that do harm, by halves.
func narrow(t *testing.T, name string, plants []plant, check func(*testing.T, []plant)) {
	for step := 1; len(plants) > 1; step++ {
		half := plants[:len(plants)/2]
		if t.Run(fmt.Sprint("half of ", name, ", step ", step), func(t *testing.T) { check(t, half) }) {
			half = plants[len(plants)/2:]
		}
		plants = half
	}
	t.Run(plants[0].String(), func(t *testing.T) { check(t, plants) })
}

// portable reports whether each engine can hold the value.
func portable(p plant) bool {
	switch v := p.value.(type) {
	case string:
		return utf8.ValidString(v) && !strings.ContainsRune(v, 0)
	case int64:
		return p.column != "id" || v < 1<<52 // after the largest value the database gives larger ones
	}
	return true
}

// failing is a logger that fails the test for each error.
func (w *world) failing() *slog.Logger {
	return slog.New(slog.NewTextHandler(failingWriter{w.T}, &slog.HandlerOptions{Level: slog.LevelError}))
}

type failingWriter struct{ t *testing.T }

func (f failingWriter) Write(text []byte) (int, error) {
	f.t.Errorf("an error is logged: %.1000s", text)
	return len(text), nil
}

// looks reads everything that people can look at.
func (w *world) looks() {
	w.Helper()
	var all []jobs.Job
	for after := int64(0); ; {
		page, err := inspect.New(w.client).ListPage(w.ctx, inspect.Filter{After: after, Limit: inspect.MaxPage})
		if err != nil {
			w.Fatalf("list: %v", err)
		}
		all = append(all, page.Jobs...)
		if after = page.Next; after == 0 {
			break
		}
	}
	_, err := json.Marshal(all)
	w.must("encode the list", err)
	// A list begins below the largest number, which every CHECK refuses.
	if n := scan[int64](w.T, w.plain, `SELECT COUNT(*) FROM sqluice_jobs WHERE status <> 'deleted' AND id < 9223372036854775807`); int64(len(all)) != n {
		w.Errorf("%d of %d jobs are listed", len(all), n)
	}
	for i, job := range all {
		if i%10 > 0 && len(all) > 100 {
			continue
		}
		_, err := inspect.New(w.client).Why(w.ctx, job.ID)
		w.must("why", err)
		_, err = inspect.New(w.client).Errors(w.ctx, job.ID)
		w.must("errors", err)
	}
	_, err = inspect.New(w.client).Failures(w.ctx, inspect.FailedFilter{}, inspect.Failure{})
	w.must("failures", err)
	_, err = inspect.New(w.client).Audit(w.ctx, inspect.AuditFilter{Job: 1})
	w.must("audit of a job", err)
	_, err = inspect.New(w.client).SensitiveFields(w.ctx)
	w.must("sensitive fields", err)
	for _, f := range []inspect.Filter{{Tag: "a"}, {Text: "a"}, {Kind: "k", Status: jobs.StatusPending}} {
		_, err = inspect.New(w.client).List(w.ctx, f)
		w.must("search", err)
	}

	handler, err := admin.New(w.client, admin.Config{Logger: w.failing()})
	w.must("make the pages", err)
	server := httptest.NewServer(handler)
	defer server.Close()
	paths := []string{"/", "/?range=day", "/failed", "/queues", "/workers", "/audit", "/jobs"}
	for _, status := range jobs.Statuses() {
		paths = append(paths, "/jobs?status="+string(status), "/api/admin/jobs?limit=200&status="+string(status))
	}
	for _, path := range []string{"/jobs?limit=200", "/jobs?q=a", "/failed", "/stats", "/history", "/queues", "/workers", "/audit?limit=200", "/healthz", "/readyz"} {
		paths = append(paths, "/api/admin"+path)
	}
	for i, job := range all {
		if job.ID > 0 && (i%10 == 0 || len(all) <= 100) {
			paths = append(paths, fmt.Sprint("/jobs/", job.ID), fmt.Sprint("/api/admin/jobs/", job.ID))
		}
	}
	for _, path := range paths {
		w.get(server.URL+path, strings.HasPrefix(path, "/api/"))
	}
	queue := metrics.NewQueue(w.client, w.failing())
	scrape, err := metrics.Handler(w.failing(), queue)
	w.must("make the metrics", err)
	exporter := httptest.NewServer(scrape)
	defer exporter.Close()
	w.get(exporter.URL, false)
}

func (w *world) get(url string, asJSON bool) {
	w.Helper()
	r, err := http.NewRequestWithContext(w.ctx, http.MethodGet, url, nil)
	if err != nil {
		w.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		w.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		w.Fatal(err)
	}
	if answer.StatusCode >= 300 || asJSON && !json.Valid(text) {
		w.Errorf("GET %s is answered with %s: %.300s", url, answer.Status, text)
	}
}

// goesOn adds jobs by the library and by another program behind all that wait in the queue q, and waits until a runner
// has done them. Some fail first, so that rows are added to all tables. It returns the logged errors.
func (w *world) goesOn() (logged []string) {
	w.Helper()
	said := make(channel, 1000)
	receipt, err := w.client.Enqueue(w.ctx, "k", json.RawMessage(`{}`), jobs.Queue("q"), jobs.Priority(jobs.MinPriority))
	w.must("enqueue", err)
	last := []int64{receipt.ID}
	for range 2 {
		var id int64
		w.must("plain INSERT", w.plain.QueryRowContext(w.ctx,
			`INSERT INTO sqluice_jobs (kind, queue, priority) VALUES ('k', 'q', -32768) RETURNING id`).Scan(&id))
		last = append(last, id)
	}
	failing, err := w.client.Enqueue(w.ctx, "fails", json.RawMessage(`{}`), jobs.Queue("q"), jobs.Priority(jobs.MinPriority), jobs.MaxAttempts(1))
	w.must("enqueue", err)
	runner, err := jobs.NewRunner(w.client, jobs.Config{
		Queues: map[string]int{"q": 50}, Logger: slog.New(slog.NewTextHandler(io.MultiWriter(w.Output(), said), &slog.HandlerOptions{Level: slog.LevelError})),
		Retention: jobs.Retention{Done: jobs.Forever, Failed: jobs.Forever, Cancelled: jobs.Forever, Audit: jobs.Forever},
	})
	if err != nil {
		w.Fatal(err)
	}
	jobs.Kind[json.RawMessage]{Name: "k"}.Handle(runner, func(context.Context, jobs.Job, json.RawMessage) error { return nil })
	jobs.Kind[json.RawMessage]{Name: "fails"}.Handle(runner, func(context.Context, jobs.Job, json.RawMessage) error { return errors.New("no") })
	ctx, cancel := context.WithCancel(w.ctx)
	ended := make(chan error, 1)
	go func() { ended <- runner.Run(ctx) }()
	waiting, stop := context.WithTimeout(w.ctx, hang/2)
	defer stop()
	for _, id := range append(last, failing.ID) {
		job, err := w.client.Wait(waiting, id)
		if err != nil || job.Status != jobs.StatusDone && id != failing.ID {
			w.Errorf("job %d is %s after %v", id, job.Status, err)
		}
	}
	cancel()
	w.must("run", <-ended)
	list, err := inspect.New(w.client).Errors(w.ctx, failing.ID)
	if err != nil || len(list) != 1 {
		w.Errorf("the job that fails has the errors %v, %v", list, err)
	}
	_, err = inspect.New(w.client).Recount(w.ctx)
	w.must("recount", err)
	acting := jobs.WithActor(w.ctx, "ann")
	_, err = w.client.PauseQueue(acting, "q")
	w.must("pause", err)
	_, err = w.client.ResumeQueue(acting, "q")
	w.must("resume", err)
	w.must("retry", w.client.Retry(acting, failing.ID))
	w.must("delete", w.client.Delete(acting, failing.ID))
	for len(said) > 0 {
		logged = append(logged, <-said)
	}
	return logged
}

// lowers runs the remedies in logged errors for a largest count, which is one of the plants, and checks that its rows go on.
func (w *world) lowers(plants []plant, logged []string) {
	w.Helper()
	healed := false
	for _, text := range logged {
		if !remedy.MatchString(text) {
			continue
		}
		if !slices.ContainsFunc(plants, plant.isLargestCount) {
			w.Errorf("no plant is a largest count, and this is logged: %s", text)
		}
		w.heal(text)
		healed = true
	}
	if healed {
		w.must("try refused jobs now", w.exec(`UPDATE sqluice_refusals SET again_at = 0`))
		w.goesOn()
	}
}

// isLargestCount reports whether the value stops the queue from counting on.
func (p plant) isLargestCount() bool {
	return p.value == int64(1_000_000_000) && slices.Contains([]string{"attempt", "uncounted", "crashes", "times"}, p.column)
}

// copies moves the queue to each engine and compares; without whole, the move must be refused before the queue is closed.
func (w *world) copies(targets map[string]func(*testing.T) *world, whole bool) {
	w.Helper()
	// A row of a worker that is said to live keeps a move from beginning, as it should.
	w.must("delete the workers", w.exec(`DELETE FROM sqluice_workers WHERE ended_at IS NULL`))
	for engine, make := range targets {
		target := make(w.T)
		_, err := move.Run(w.ctx, move.Config{
			From: move.Side{Name: "from", Store: port.StoreOf(w.store)}, To: move.Side{Name: "to", Store: port.StoreOf(target.store)}, KeepOpen: true,
		})
		switch {
		case whole && err != nil:
			w.Errorf("copy to %s: %v", engine, err)
		case !whole && err == nil:
			w.Error("rows that not every engine can hold are copied")
		case !whole:
			if _, err := w.client.Enqueue(w.ctx, "k", json.RawMessage(`{}`)); err != nil {
				w.Errorf("after a copy was refused an enqueue gives %v", err)
			}
		case engine == "sqlite":
			if faults := rows(w.T, target.plain, `PRAGMA integrity_check`); fmt.Sprint(faults) != "[[ok]]" {
				w.Errorf("the copy breaks the target's CHECKs: %v", faults)
			}
		}
	}
}

// prunes removes the jobs that ended.
func (w *world) prunes() {
	w.Helper()
	for _, status := range jobs.Statuses() {
		if status.Final() {
			_, err := inspect.New(w.client).Prune(w.ctx, status, 0)
			w.must("prune", err)
		}
	}
}

// Rows written without the CHECKs do not keep people from looking at the queue. On PostgreSQL a domain cannot be avoided.
func TestPagesSurviveBadRows(t *testing.T) {
	if testing.Short() {
		t.Skip("takes minutes: make test LONG=1")
	}
	w := worlds(t, sqliteEngine())(t)
	w.plain.SetMaxOpenConns(1) // the setting belongs to a connection
	w.must("turn the CHECKs off", w.exec(`PRAGMA ignore_check_constraints = 1`))
	byTable := map[string][]plant{}
	for _, p := range (&gardener{T: t, e: w.e, pool: w.plain}).plants() {
		if !p.update { // which gives the same rows
			byTable[p.table] = append(byTable[p.table], p)
		}
	}
	for table, plants := range byTable {
		look := func(t *testing.T, plants []plant) {
			w := worlds(t, w.e)(t)
			w.plain.SetMaxOpenConns(1)
			w.must("turn the CHECKs off", w.exec(`PRAGMA ignore_check_constraints = 1`))
			w.plant(plants)
			w.looks()
		}
		if !t.Run(table, func(t *testing.T) { look(t, plants) }) {
			narrow(t, table, plants, look)
		}
	}
}
