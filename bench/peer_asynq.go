package main

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"time"

	"github.com/hibiken/asynq"
)

// asynq, https://github.com/hibiken/asynq, with a separate redis-server (peer_redis.go).

const asynqBestSlots = 200

func asynqs() []contender {
	c := contender{
		name: "asynq", version: moduleVersion("github.com/hibiken/asynq"), engine: onRedis,
		roles:   goPeer(openAsynq).roles(),
		without: map[string]string{bulkInsert: "it can add jobs only one by one"},
	}
	// The default of Config.Concurrency is the number of processors.
	return inSettings(c, runtime.NumCPU(), asynqBestSlots)
}

type asynqQueue struct {
	redis     asynq.RedisClientOpt
	settings  string
	mishaps   *mishaps
	client    *asynq.Client
	inspector *asynq.Inspector
}

// openAsynq uses asynq's default pool of connections, 10 for each processor. In the best settings it has as many as
// there are callers or slots (RedisClientOpt.PoolSize).
func openAsynq(_ context.Context, t task, f *mishaps) (goQueue, error) {
	q := &asynqQueue{redis: asynq.RedisClientOpt{Network: "unix", Addr: t.Path}, settings: t.Settings, mishaps: f}
	if q.settings == settingsBest {
		q.redis.PoolSize = asynqBestSlots
	}
	q.client, q.inspector = asynq.NewClient(q.redis), asynq.NewInspector(q.redis)
	return q, q.client.Ping()
}

func (q *asynqQueue) add(ctx context.Context, a args) error {
	data, err := json.Marshal(a)
	if err != nil {
		return err
	}
	_, err = q.client.EnqueueContext(ctx, asynq.NewTask("noop", data))
	return err
}

// addMany only fills the queue for other workloads: there is no bulk insert.
func (q *asynqQueue) addMany(ctx context.Context, list []args) error {
	return byCallers(64, len(list), func(i int) error { return q.add(ctx, list[i]) })
}

func (q *asynqQueue) work(slots int, handle func(context.Context, args) error) (func() error, error) {
	config := asynq.Config{Concurrency: slots, Logger: asynqLogger{q.mishaps}, LogLevel: asynq.ErrorLevel}
	if q.settings == settingsBest {
		// "The interval between checks for new tasks to process when all queues are empty", 1 s by default. Its
		// documentation warns of the load of low values and names none; this costs as much as River's best does.
		config.TaskCheckInterval = 20 * time.Millisecond
	}
	server := asynq.NewServer(q.redis, config)
	err := server.Start(asynq.HandlerFunc(func(ctx context.Context, t *asynq.Task) error {
		var a args
		if err := json.Unmarshal(t.Payload(), &a); err != nil {
			return err
		}
		return handle(ctx, a)
	}))
	return func() error { server.Shutdown(); return nil }, err
}

func (q *asynqQueue) unfinished(context.Context) (bool, error) {
	info, err := q.inspector.GetQueueInfo("default")
	if err != nil {
		return false, err
	}
	return info.Pending+info.Active+info.Scheduled+info.Retry > 0, nil
}

func (q *asynqQueue) close() error {
	if err := q.inspector.Close(); err != nil {
		return err
	}
	return q.client.Close()
}

// asynqLogger receives errors only.
type asynqLogger struct{ mishaps *mishaps }

func (asynqLogger) Debug(...any)        {}
func (asynqLogger) Info(...any)         {}
func (asynqLogger) Warn(...any)         {}
func (l asynqLogger) Error(what ...any) { l.mishaps.addLogged(fmt.Sprint(what...)) }
func (l asynqLogger) Fatal(what ...any) { l.mishaps.addLogged(fmt.Sprint(what...)) }
