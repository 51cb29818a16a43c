//go:build unix

package crashtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sqluice/sqluice/internal/test/testdb"
)

// seedVariable names the environment variable that repeats a run's choices.
const seedVariable = "SQLUICE_CRASHTEST_SEED"

// durableCluster starts a server that keeps acknowledged data, as one outside of tests does.
func durableCluster(t *testing.T) *testdb.Cluster {
	t.Helper()
	return testdb.StartCluster(t, map[string]string{"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"})
}

// All the time the server ends one of the queue's connections after the other, and in the middle of the work it crashes
// and starts again. No acknowledged job is lost, failed calls did not happen, no attempt starts twice, and every job is done at
// the end.
func TestPostgresTerminatedBackends(t *testing.T) {
	testdb.TakesLong(t)
	t.Run("Restart", func(t *testing.T) {
		chaos(t, 5000, func(t *testing.T, cluster *testdb.Cluster, _ string) {
			cluster.Stop(t, "immediate")
			cluster.Start(t)
		})
	})
	// When one of its processes is killed the server drops all connections and recovers by itself.
	t.Run("Recovery", func(t *testing.T) {
		chaos(t, 2500, func(t *testing.T, cluster *testdb.Cluster, address string) {
			one, err := pgx.Connect(t.Context(), address)
			must(t, err)
			other, err := pgx.Connect(t.Context(), cluster.URL())
			must(t, err)
			must(t, syscall.Kill(int(one.PgConn().PID()), syscall.SIGKILL))
			eventually(t, "the server drops its connections", func() bool { return other.Ping(t.Context()) != nil })
			must(t, errors.Join(one.Close(t.Context()), other.Close(t.Context())))
			eventually(t, "the server takes connections again", func() bool {
				conn, err := pgx.Connect(t.Context(), cluster.URL())
				return err == nil && conn.Close(t.Context()) == nil
			})
		})
	})
}

func chaos(t *testing.T, n int, crash func(t *testing.T, cluster *testdb.Cluster, address string)) {
	cluster := durableCluster(t)
	address, client := postgresQueue(t, cluster.Postgres)
	seed := newSeed(t)
	var workers, enqueuers []*process
	for i := range 4 {
		workers = append(workers, start(t, role{
			Do: "worker", DB: address, Name: fmt.Sprint("worker", i), Queues: map[string]int{"default": 10},
		}))
	}
	for _, w := range workers { // a late one might find no job left
		w.said("worker started")
	}
	for i := range 3 {
		enqueuers = append(enqueuers, start(t, role{Do: "enqueue", DB: address, Name: fmt.Sprint("enqueuer", i), Jobs: n/3 + 1}))
	}
	all := append(enqueuers, workers...)
	for _, p := range enqueuers {
		eventually(t, "all enqueuers are at work", func() bool { return len(p.events()) > 0 })
	}
	before := terminate(t, cluster, address, seed, all)
	eventually(t, "half of the jobs are there", func() bool {
		events := 0
		for _, p := range enqueuers {
			events += len(p.events())
		}
		return events >= n/2
	})
	before.stop()
	crash(t, cluster, address)
	after := terminate(t, cluster, address, seed+1, all)
	for _, p := range enqueuers {
		must(t, p.wait())
	}
	eventually(t, "all jobs have ended", func() bool { return unfinished(t, client, "default") == 0 })
	after.stop()

	sum := checkEnqueues(t, client, enqueuers)
	there := checkDone(t, client)
	var events []event
	for _, w := range workers {
		w.release()
		events = append(events, w.events()...)
	}
	if started := checkStarts(t, events); started != there {
		t.Errorf("%d of %d jobs were started", started, there)
	}
	starts := slices.DeleteFunc(events, func(e event) bool { return e.what != "start" })
	t.Logf("%d connections ended; %d jobs acknowledged, %d calls failed, %d with an unknown outcome; %d jobs started %d times",
		before.ended+after.ended, len(sum.added), sum.refused, sum.unknown, there, len(starts))
}

// newSeed returns a new seed for each run, or the one to repeat.
func newSeed(t *testing.T) uint64 {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv(seedVariable); text != "" {
		var err error
		seed, err = strconv.ParseUint(text, 10, 64)
		must(t, err)
	}
	t.Logf("%s=%d", seedVariable, seed)
	return seed
}

// terminator ends a queue's connections one after the other.
type terminator struct {
	t      *testing.T
	cancel context.CancelFunc
	done   chan error
	ended  int // after stop
}

// progress is the size of the processes' new history, in bytes, after which the next connection ends: about twenty
// events. So a slow machine, which takes longer to make connections, loses as many of them a job as a fast one does.
const progress = 600 // bytes

// terminate makes the server end a random one of the queue's connections, until stop: every 20 ms when the processes
// make progress.
func terminate(t *testing.T, cluster *testdb.Cluster, address string, seed uint64, processes []*process) *terminator {
	t.Helper()
	config, err := pgx.ParseConfig(address)
	must(t, err)
	list, end := statement(t, "list_backends"), statement(t, "terminate_backend")
	ctx, cancel := context.WithCancel(t.Context())
	conn, err := pgx.Connect(ctx, cluster.URL())
	must(t, err)
	x := &terminator{t: t, cancel: cancel, done: make(chan error, 1)}
	random := rand.New(rand.NewPCG(seed, 0))
	go func() {
		ticker := time.NewTicker(20 * time.Millisecond)
		defer ticker.Stop()
		for seen := int64(0); ; {
			select {
			case <-ctx.Done():
				x.done <- conn.Close(context.WithoutCancel(ctx))
				return
			case <-ticker.C:
			}
			if n := written(processes); n < seen+progress {
				continue
			} else {
				seen = n
			}
			rows, err := conn.Query(context.WithoutCancel(ctx), list, config.Database)
			if err != nil {
				x.done <- err
				return
			}
			pids, err := pgx.CollectRows(rows, pgx.RowTo[int32])
			if err == nil && len(pids) > 0 {
				_, err = conn.Exec(context.WithoutCancel(ctx), end, pids[random.IntN(len(pids))])
				x.ended++
			}
			if err != nil {
				x.done <- errors.Join(err, conn.Close(context.WithoutCancel(ctx)))
				return
			}
		}
	}()
	t.Cleanup(cancel)
	return x
}

// written returns how many bytes the histories of the processes have.
func written(processes []*process) (n int64) {
	for _, p := range processes {
		if info, err := os.Stat(p.history); err == nil { // a process that has just begun has none
			n += info.Size()
		}
	}
	return n
}

func (x *terminator) stop() {
	x.t.Helper()
	x.cancel()
	must(x.t, <-x.done)
}
