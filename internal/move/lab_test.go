package move

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/receipts"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/postgres"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

// hang is the limit of a wait: no test depends on how long anything takes.
const hang = 2 * time.Minute

// tests returns the tests that run from each engine to each.
func tests() map[string]func(*lab) {
	return map[string]func(*lab){
		"EveryColumn":          testEveryColumn,
		"ThereAndBack":         testThereAndBack,
		"Pending":              testPendingStaysPending,
		"IDs":                  testIDsAreNeverGivenTwice,
		"IDsOfTarget":          testIDsOfTheTargetAreNeverGivenTwice,
		"EndedWorkersOfTarget": testEndedWorkersOfTheTargetMakeRoom,
		"KeepOpen":             testKeepOpen,
		"Again":                testAgain,
		"DeathAnywhere":        testDeathAnywhere,
		"TwoAtOnce":            testTwoAtOnce,
		"Overtaken":            testOvertaken,
		"OvertakenAnywhere":    testOvertakenAnywhere,
		"Life":                 testEveryJobIsDoneOnce,
		"NotEmpty":             testNotEmpty,
		"MarksOfBothSides":     testMarksOfBothSides,
		"OwnColumns":           testOwnColumns,
		"OwnColumnsLeft":       testOwnColumnsLeft,
		"NoOwnColumns":         testNoOwnColumns,
		"LiveWorker":           testLiveWorker,
		"DeadWorker":           testDeadWorker,
		"LateWorker":           testLateWorker,
		"LateJob":              testLateJob,
		"LateError":            testLateError,
		"LatePause":            testLatePause,
		"LateMark":             testLateMark,
		"Same":                 testSame,
		"Schema":               testSchema,
		"Elsewhere":            testElsewhere,
		"Differ":               testDiffer,
		"RefusedRow":           testRefusedRow,
		"Opened":               testOpenedMeanwhile,
		"TargetOpened":         testTargetOpenedMeanwhile,
		"Stopped":              testStopped,
		"Reopen":               testReopen,
		"ReopenTarget":         testReopenTarget,
	}
}

func TestWithinSQLite(t *testing.T) {
	e := sqliteEngine(t)
	runTests(t, e, e, tests())
	runTests(t, e, e, map[string]func(*lab){"DeathOfACopy": testDeathOfACopy})
}

func TestWithPostgres(t *testing.T) {
	file, server := sqliteEngine(t), postgresEngine(t)
	t.Run("FromSQLite", func(t *testing.T) { runTests(t, file, server, tests()) })
	t.Run("ToSQLite", func(t *testing.T) { runTests(t, server, file, tests()) })
	t.Run("Within", func(t *testing.T) {
		few := tests()
		maps.DeleteFunc(few, func(name string, _ func(*lab)) bool {
			return !slices.Contains([]string{"EveryColumn", "IDsOfTarget", "LateJob", "OwnColumns", "Overtaken", "Same", "TwoAtOnce"}, name)
		})
		runTests(t, server, server, few)
	})
}

func runTests(t *testing.T, from, to kindOfDatabase, tests map[string]func(*lab)) {
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(&lab{
				T: t, ctx: withHang(t), fromEngine: from, toEngine: to, from: from.place(t), to: to.place(t), stores: map[*place]jobs.Store{},
			})
		})
	}
}

func withHang(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	t.Cleanup(cancel)
	return ctx
}

// kindOfDatabase makes empty databases with the newest schema.
type kindOfDatabase struct {
	name  string
	place func(t *testing.T) *place
}

// place is a database that can be opened several times, as by several processes.
type place struct {
	name   string
	open   func() (jobs.Store, error)
	empty  func(t *testing.T)      // removes all rows
	rule   func(t *testing.T)      // makes a rule of an application: no two jobs of one user
	own    func(t *testing.T)      // adds columns of the owner
	values func(t *testing.T)      // sets them in all jobs after the first
	waits  func(t *testing.T) bool // a transaction waits for a lock on a table; nil where there are no such locks
}

// sqliteEngine copies a migrated file, which is cheaper than a migration for each test.
func sqliteEngine(t *testing.T) kindOfDatabase {
	path := filepath.Join(t.TempDir(), "template.db")
	store, err := sqlite.Open(t.Context(), path)
	if err == nil {
		_, err = engine.StoreOf(store).Migrations().Migrate(t.Context())
		err = errors.Join(err, store.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	template, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return kindOfDatabase{"SQLite", func(t *testing.T) *place {
		path := filepath.Join(t.TempDir(), "jobs.db")
		if err := os.WriteFile(path, template, 0o600); err != nil {
			t.Fatal(err)
		}
		p := &place{
			name: path,
			open: func() (jobs.Store, error) { return sqlite.Open(context.Background(), path) },
		}
		p.empty = func(t *testing.T) { execute(t, testdb.PlainSQLite(t, path), "empty.sqlite.sql") }
		p.rule = func(t *testing.T) { execute(t, testdb.PlainSQLite(t, path), "refuse_users.sql") }
		p.own = func(t *testing.T) { execute(t, testdb.PlainSQLite(t, path), "own_column.sql") }
		p.values = func(t *testing.T) { execute(t, testdb.PlainSQLite(t, path), "own_values.sql") }
		return p
	}}
}

func postgresEngine(t *testing.T) kindOfDatabase {
	server := testdb.StartPostgres(t)
	open := func(url string) (jobs.Store, error) { return postgres.Open(context.Background(), url) }
	template := server.Migrated(t, open)
	return kindOfDatabase{"PostgreSQL", func(t *testing.T) *place {
		url := server.Copy(t, template)
		pool, err := sql.Open("pgx", url)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := pool.Close(); err != nil {
				t.Error(err)
			}
		})
		p := &place{
			name: url,
			open: func() (jobs.Store, error) { return open(url) },
			waits: func(t *testing.T) (waits bool) {
				if err := pool.QueryRowContext(t.Context(), statement(t, "waits.postgres.sql")).Scan(&waits); err != nil {
					t.Fatal(err)
				}
				return waits
			},
		}
		p.empty = func(t *testing.T) { execute(t, pool, "empty.postgres.sql") }
		p.rule = func(t *testing.T) { execute(t, pool, "refuse_users.sql") }
		p.own = func(t *testing.T) { execute(t, pool, "own_column.sql") }
		p.values = func(t *testing.T) { execute(t, pool, "own_values.sql") }
		return p
	}}
}

func execute(t *testing.T, pool *sql.DB, name string) {
	t.Helper()
	if _, err := pool.ExecContext(t.Context(), statement(t, name)); err != nil {
		t.Fatal(err)
	}
}

func statement(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// lab is one test with two databases.
type lab struct {
	*testing.T
	ctx                  context.Context
	fromEngine, toEngine kindOfDatabase
	from, to             *place
	stores               map[*place]jobs.Store // of the test itself
}

// side opens a place as another process would; the test's end closes it.
func (l *lab) side(p *place) Side {
	l.Helper()
	store, err := p.open()
	if err != nil {
		l.Fatal(err)
	}
	l.Cleanup(func() {
		if err := store.Close(); err != nil {
			l.Errorf("close %s: %v", p.name, err)
		}
	})
	return Side{Name: p.name, Store: engine.StoreOf(store)}
}

// store returns the test's store of a place.
func (l *lab) store(p *place) jobs.Store {
	l.Helper()
	if l.stores[p] == nil {
		l.stores[p] = engine.SealStore(l.side(p).Store)
	}
	return l.stores[p]
}

// remove deletes a job by SQL, which a closed queue allows.
func (l *lab) remove(p *place, id int64) {
	l.Helper()
	l.write(p, func(ctx context.Context, q db.Querier) error {
		_, err := q.DeleteJob(ctx, db.DeleteJobParams{ID: id})
		return err
	})
}

func (l *lab) client(p *place) *jobs.Client {
	l.Helper()
	return jobs.New(l.store(p))
}

// config returns the Config of a move with small batches, so that few rows make several.
func (l *lab) config() Config {
	l.Helper()
	return Config{From: l.side(l.from), To: l.side(l.to), batch: 10}
}

// must stops the test at an error that it does not expect.
func (l *lab) must(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

// moves runs a move that must succeed.
func (l *lab) moves(c Config) Report {
	l.Helper()
	report, err := Run(l.ctx, c)
	l.must(err)
	return report
}

// enqueue adds n jobs of kind k.
func (l *lab) enqueue(p *place, n int) []int64 {
	l.Helper()
	payloads := make([]json.RawMessage, n)
	for i := range payloads {
		payloads[i] = json.RawMessage(`{}`)
	}
	ids, err := receipts.IDs(l.client(p).EnqueueMany(l.ctx, "k", payloads))
	l.must(err)
	return ids
}

// write runs statements on a place as another program might.
func (l *lab) write(p *place, fn func(ctx context.Context, q db.Querier) error) {
	l.Helper()
	l.must(engine.StoreOf(l.store(p)).Write(l.ctx, fn))
}

// everything holds the content of a place except its closing.
type everything struct {
	jobs     []db.Job
	errors   []db.JobError
	workers  []db.Worker
	pauses   []db.Pause
	rules    []db.Retention
	declared []db.Declaration
	audit    []db.JobAudit
	marks    map[[2]string]bool // sensitive fields, by kind and path

	schedules []db.Schedule
	ticks     []db.ScheduleTick
	keys      []db.UniqueKey
}

func (l *lab) everything(p *place) everything {
	l.Helper()
	all := everything{marks: map[[2]string]bool{}}
	l.must(engine.StoreOf(l.store(p)).Read(l.ctx, func(ctx context.Context, q db.Querier) (err error) {
		if all.jobs, err = q.ListJobsFrom(ctx, db.ListJobsFromParams{AfterID: first, N: 1e6}); err != nil {
			return err
		}
		if all.errors, err = q.ListJobErrorsFrom(ctx, db.ListJobErrorsFromParams{AfterID: first, N: 1e6}); err != nil {
			return err
		}
		if all.workers, err = q.ListWorkersFrom(ctx, db.ListWorkersFromParams{AfterID: first, N: 1e6}); err != nil {
			return err
		}
		if all.audit, err = q.ListAuditFrom(ctx, db.ListAuditFromParams{AfterID: first, N: 1e6}); err != nil {
			return err
		}
		if all.schedules, err = q.ListSchedules(ctx, db.ListSchedulesParams{N: 1e6}); err != nil {
			return err
		}
		if all.keys, err = q.ListAllUniqueKeys(ctx); err != nil {
			return err
		}
		if all.ticks, err = q.ListAllScheduleTicks(ctx); err != nil {
			return err
		}
		slices.SortFunc(all.schedules, func(a, b db.Schedule) int { return cmp.Compare(a.Name, b.Name) }) // engines sort text differently
		slices.SortFunc(all.keys, func(a, b db.UniqueKey) int { return cmp.Compare(a.Kind, b.Kind) })
		slices.SortStableFunc(all.ticks, func(a, b db.ScheduleTick) int { return cmp.Compare(a.Schedule, b.Schedule) })
		marks, err := q.ListAllSensitiveFields(ctx)
		if err != nil {
			return err
		}
		for _, mark := range marks {
			all.marks[[2]string{mark.Kind, mark.Path}] = true
		}
		if all.pauses, err = q.ListPauses(ctx); err != nil {
			return err
		}
		slices.SortFunc(all.pauses, func(a, b db.Pause) int { return cmp.Or(cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Kind, b.Kind)) })
		if all.rules, err = q.ListRetentions(ctx); err != nil {
			return err
		}
		if all.declared, err = q.ListDeclarations(ctx); err != nil {
			return err
		}
		slices.SortFunc(all.rules, func(a, b db.Retention) int {
			return cmp.Or(cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Origin, b.Origin))
		})
		return nil
	}))
	return all
}

// closings returns the rows that close a place.
func (l *lab) closings(p *place) []db.Move {
	l.Helper()
	var rows []db.Move
	l.must(engine.StoreOf(l.store(p)).Read(l.ctx, func(ctx context.Context, q db.Querier) (err error) {
		rows, err = q.ListMoves(ctx)
		return err
	}))
	return rows
}

// wantOpen checks that jobs can be added; wantClosed, that they cannot.
func (l *lab) wantOpen(p *place) {
	l.Helper()
	if rows := l.closings(p); len(rows) > 0 {
		l.Errorf("%s is closed by %+v", p.name, rows)
	}
}

func (l *lab) wantClosed(p *place) {
	l.Helper()
	c := l.client(p)
	if _, err := c.Enqueue(l.ctx, "k", json.RawMessage(`{}`)); !errors.Is(err, jobs.ErrMoved) {
		l.Errorf("an enqueue into %s, which should be closed: %v", p.name, err)
	}
	if _, err := c.EnqueueMany(l.ctx, "k", []json.RawMessage{json.RawMessage(`{}`)}); !errors.Is(err, jobs.ErrMoved) {
		l.Errorf("an enqueue of many into %s, which should be closed: %v", p.name, err)
	}
	runner, err := jobs.NewRunner(c, jobs.Config{})
	l.must(err)
	jobs.Kind[json.RawMessage]{Name: "k"}.Handle(runner, func(context.Context, jobs.Job, json.RawMessage) error {
		l.Error("a closed queue runs a job")
		return nil
	})
	if err := runner.Drain(l.ctx); !errors.Is(err, jobs.ErrMoved) {
		l.Errorf("a worker on %s, which should be closed: %v", p.name, err)
	}
}

// eventually waits until a condition of another goroutine holds.
func (l *lab) eventually(what string, is func() bool) {
	l.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-l.ctx.Done():
			l.Fatalf("given up waiting until %s", what)
		case <-tick.C:
		}
	}
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }
