package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mikestefanello/backlite"
)

// backlite, https://github.com/mikestefanello/backlite.

const (
	backliteDefaultSlots = 10    // backlite has no default; its README uses 10
	backliteBestSlots    = 1_000 // README, "NumWorkers": a fetch takes at most as many jobs, and waits 100 ms for a free one
)

// backliteAlone says why a workload is left out.
const backliteAlone = "a process never sees jobs that another adds while it works (README, \"No database polling\")"

func backlites() []contender {
	c := contender{
		name: "backlite", version: moduleVersion("github.com/mikestefanello/backlite"), engine: onSQLite,
		roles: goPeer(openBacklite).roles(),
		without: map[string]string{
			"latency, other process": backliteAlone, "latency at half load": backliteAlone,
		},
	}
	list := inSettings(c, backliteDefaultSlots, backliteBestSlots)
	list[0].share = 20 // with 10 slots it runs about 100 jobs a second
	return list
}

// backliteTask keeps finished jobs as the README's example does. backliteLean keeps none, which is the library's
// default and its fastest setting.
type backliteTask struct{ args }
type backliteLean struct{ args }

func (backliteTask) Config() backlite.QueueConfig {
	config := backliteLean{}.Config()
	config.Retention = &backlite.Retention{
		Duration: 6 * time.Hour, Data: &backlite.RetainData{OnlyFailed: true},
	}
	return config
}

func (backliteLean) Config() backlite.QueueConfig {
	return backlite.QueueConfig{Name: "noop", MaxAttempts: 5, Backoff: 5 * time.Second, Timeout: 10 * time.Second}
}

type backliteQueue struct {
	pool    *sql.DB
	mishaps *mishaps
	best    bool
	client  *backlite.Client
}

func openBacklite(_ context.Context, t task, f *mishaps) (goQueue, error) {
	pool, err := sql.Open("sqlite", sqliteDSN(t))
	if err != nil {
		return nil, err
	}
	q := &backliteQueue{pool: pool, mishaps: f, best: t.Settings == settingsBest}
	if q.best {
		// Not from its documentation, but it is no slower with one process, and spares SQLITE_BUSY.
		pool.SetMaxOpenConns(1)
	}
	q.client, err = q.newClient(1)
	if err == nil {
		err = q.client.Install()
	}
	if err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	return q, nil
}

// newClient uses the README's settings except for the slots.
func (q *backliteQueue) newClient(slots int) (*backlite.Client, error) {
	return backlite.NewClient(backlite.ClientConfig{
		DB: q.pool, Logger: backliteLogger{q.mishaps}, ReleaseAfter: 10 * time.Minute, NumWorkers: slots, CleanupInterval: time.Hour,
	})
}

func (q *backliteQueue) task(a args) backlite.Task {
	if q.best {
		return backliteLean{a}
	}
	return backliteTask{a}
}

func (q *backliteQueue) add(ctx context.Context, a args) error {
	_, err := q.client.Add(q.task(a)).Ctx(ctx).Save()
	return err
}

// addMany is one transaction: README, "Bulk inserts".
func (q *backliteQueue) addMany(ctx context.Context, list []args) error {
	tasks := make([]backlite.Task, len(list))
	for i, a := range list {
		tasks[i] = q.task(a)
	}
	_, err := q.client.Add(tasks...).Ctx(ctx).Save()
	return err
}

func (q *backliteQueue) work(slots int, handle func(context.Context, args) error) (func() error, error) {
	client, err := q.newClient(slots)
	if err != nil {
		return nil, err
	}
	if q.best {
		client.Register(backlite.NewQueue(func(ctx context.Context, t backliteLean) error { return handle(ctx, t.args) }))
	} else {
		client.Register(backlite.NewQueue(func(ctx context.Context, t backliteTask) error { return handle(ctx, t.args) }))
	}
	client.Start(context.Background())
	q.client = client // so that its inserts wake its workers
	return func() error {
		ctx, cancel := context.WithTimeout(context.Background(), stopWithin)
		defer cancel()
		if !client.Stop(ctx) {
			return fmt.Errorf("backlite did not stop within %s", stopWithin)
		}
		return nil
	}, nil
}

// unfinished: done jobs leave the table.
func (q *backliteQueue) unfinished(ctx context.Context) (bool, error) {
	return asks(ctx, q.pool, "SELECT EXISTS (SELECT 1 FROM backlite_tasks)")
}

func (q *backliteQueue) close() error { return q.pool.Close() }

type backliteLogger struct{ mishaps *mishaps }

func (backliteLogger) Info(string, ...any) {}

func (l backliteLogger) Error(message string, params ...any) {
	l.mishaps.addLogged(strings.TrimSpace(fmt.Sprintln(append([]any{message}, params...)...)))
}
