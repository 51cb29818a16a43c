package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"maragu.dev/goqite"
	"maragu.dev/goqite/jobs"
)

// goqite, https://github.com/maragudk/goqite, with its job runner.

const goqiteModule = "maragu.dev/goqite"

// goqiteBestSlots is not from its documentation. A runner without a free slot sleeps for an interval of polling.
const goqiteBestSlots = 1_000

func goqites() []contender {
	c := contender{
		name: "goqite", version: moduleVersion(goqiteModule), engine: onSQLite, roles: goPeer(openGoqite).roles(),
	}
	// The default of NewRunnerOpts.Limit is GOMAXPROCS.
	list := inSettings(c, runtime.GOMAXPROCS(0), goqiteBestSlots)
	// With two slots it runs about 20 short jobs a second: it polls each 100 ms for a free slot.
	list[0].share, list[0].timed = 20, 100
	return list
}

type goqiteQueue struct {
	pool    *sql.DB
	mishaps *mishaps
	best    bool
	queue   *goqite.Queue
}

// openGoqite uses one connection, as the README's examples do.
func openGoqite(ctx context.Context, t task, f *mishaps) (goQueue, error) {
	pool, err := sql.Open("sqlite", sqliteDSN(t))
	if err != nil {
		return nil, err
	}
	pool.SetMaxOpenConns(1)
	if err := installGoqite(ctx, pool); err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	queue := goqite.New(goqite.NewOpts{DB: pool, Name: "jobs"})
	return &goqiteQueue{pool: pool, mishaps: f, best: t.Settings == settingsBest, queue: queue}, nil
}

// installGoqite makes the schema, which goqite leaves to its users: README, "Schemas". It is a file of the module that
// no package embeds.
func installGoqite(ctx context.Context, pool *sql.DB) error {
	isInstalled, err := asks(ctx, pool, "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE name = 'goqite')")
	if err != nil || isInstalled {
		return err
	}
	folder, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", goqiteModule).Output()
	if err != nil {
		return fmt.Errorf("find the folder of %s: %w", goqiteModule, err)
	}
	schema, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(folder)), "schema_sqlite.sql"))
	if err != nil {
		return err
	}
	_, err = pool.ExecContext(ctx, string(schema))
	return err
}

func (q *goqiteQueue) add(ctx context.Context, a args) error {
	data, err := json.Marshal(a)
	if err != nil {
		return err
	}
	_, err = jobs.Create(ctx, q.queue, "noop", goqite.Message{Body: data})
	return err
}

// addMany uses one transaction: there is no bulk insert.
func (q *goqiteQueue) addMany(ctx context.Context, list []args) (err error) {
	tx, err := q.pool.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	for _, a := range list {
		data, err := json.Marshal(a)
		if err == nil {
			_, err = jobs.CreateTx(ctx, tx, q.queue, "noop", goqite.Message{Body: data})
		}
		if err != nil {
			return errors.Join(err, tx.Rollback())
		}
	}
	return tx.Commit()
}

func (q *goqiteQueue) work(slots int, handle func(context.Context, args) error) (func() error, error) {
	options := jobs.NewRunnerOpts{Limit: slots, Log: goqiteLogger{q.mishaps}, Queue: q.queue}
	if q.best {
		options.PollInterval = 10 * time.Millisecond // README, "a short message poll interval"; the default is 100 ms
	}
	runner := jobs.NewRunner(options)
	runner.Register("noop", func(ctx context.Context, data []byte) error {
		var a args
		if err := json.Unmarshal(data, &a); err != nil {
			return err
		}
		return handle(ctx, a)
	})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		runner.Start(ctx)
	}()
	return func() error {
		cancel()
		select {
		case <-ended:
			return nil
		case <-time.After(stopWithin):
			return fmt.Errorf("goqite did not stop within %s", stopWithin)
		}
	}, nil
}

// unfinished: done jobs leave the table.
func (q *goqiteQueue) unfinished(ctx context.Context) (bool, error) {
	return asks(ctx, q.pool, "SELECT EXISTS (SELECT 1 FROM goqite)")
}

func (q *goqiteQueue) close() error { return q.pool.Close() }

// goqiteLogger counts the messages about errors and panics as mishaps. goqite has no levels.
type goqiteLogger struct{ mishaps *mishaps }

func (l goqiteLogger) Info(message string, params ...any) {
	if strings.HasPrefix(message, "Error ") || strings.HasPrefix(message, "Recovered ") {
		l.mishaps.addLogged(strings.TrimSpace(fmt.Sprintln(append([]any{message}, params...)...)))
	}
}
