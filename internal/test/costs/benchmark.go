package costs

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqluice/sqluice/db"
	port "github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
)

const (
	benchKind  = "noop"
	benchSlots = 200 // concurrent jobs of a drain, and jobs of a cycle
	benchBatch = 1000
)

// Benchmark measures the most frequent paths of a job, each in an empty database that open makes. The engines run it as
// BenchmarkQueue, so that figures before and after a change can be compared: `make benchmarks`.
func Benchmark(b *testing.B, open func(b *testing.B) jobs.Store) {
	for _, one := range []struct {
		name string
		run  func(*testing.B, *jobs.Client) (jobsEach int)
	}{
		{"Enqueue", benchEnqueue},
		{"Enqueue64Callers", benchEnqueueCallers},
		{fmt.Sprintf("EnqueueMany%d", benchBatch), benchEnqueueMany},
		{fmt.Sprintf("Turn%d", benchSlots), benchTurn},
		{"Drain", benchDrain},
	} {
		b.Run(one.name, func(b *testing.B) {
			client := jobs.New(open(b))
			b.ReportAllocs()
			each := one.run(b, client)
			b.StopTimer()
			b.ReportMetric(float64(each)*float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
		})
	}
}

// benchEnqueue is one caller with a transaction for each job.
func benchEnqueue(b *testing.B, client *jobs.Client) int {
	payload := benchPayloads(1)[0]
	b.ResetTimer()
	for range b.N {
		if _, err := client.Enqueue(b.Context(), benchKind, payload); err != nil {
			b.Fatal(err)
		}
	}
	return 1
}

// benchEnqueueCallers is many concurrent callers.
func benchEnqueueCallers(b *testing.B, client *jobs.Client) int {
	const callers = 64
	payload := benchPayloads(1)[0]
	var taken atomic.Int64
	var group sync.WaitGroup
	b.ResetTimer()
	for range callers {
		group.Go(func() {
			for taken.Add(1) <= int64(b.N) {
				if _, err := client.Enqueue(b.Context(), benchKind, payload); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	return 1
}

// benchEnqueueMany is one statement for many jobs.
func benchEnqueueMany(b *testing.B, client *jobs.Client) int {
	payloads := benchPayloads(benchBatch)
	b.ResetTimer()
	for range b.N {
		if _, err := client.EnqueueMany(b.Context(), benchKind, payloads); err != nil {
			b.Fatal(err)
		}
	}
	return benchBatch
}

// benchTurn runs a runner's transaction without the runner: it records the ends of a batch of jobs and claims the next.
func benchTurn(b *testing.B, client *jobs.Client) int {
	benchFill(b, client, (b.N+1)*benchSlots)
	store := client.Store()
	now := port.StoreOf(store).Now().UnixMicro()
	later := port.StoreOf(store).Now().Add(time.Hour).UnixMicro()
	var claim db.ClaimJobsParams
	var complete db.CompleteJobsParams
	var claimed string // the ids; the store may run a transaction again
	turn := func(ctx context.Context, q db.Querier) error {
		if complete.Ids != "" {
			n, err := q.CompleteJobs(ctx, complete)
			if err != nil {
				return err
			}
			if n != benchSlots {
				return fmt.Errorf("%d jobs ended, not %d", n, benchSlots)
			}
		}
		if _, err := q.GetNextRunAfter(ctx); err != nil {
			return err
		}
		rows, err := q.ClaimJobs(ctx, claim)
		if err != nil {
			return err
		}
		if len(rows) != benchSlots {
			return fmt.Errorf("%d jobs claimed, not %d", len(rows), benchSlots)
		}
		ids := make([]int64, len(rows))
		for i, row := range rows {
			ids[i] = row.ID
		}
		claimed = listOfIDs(ids)
		return nil
	}
	err := port.StoreOf(store).Write(b.Context(), func(ctx context.Context, q db.Querier) error {
		worker, err := q.RegisterWorker(ctx, db.RegisterWorkerParams{
			Name: "benchmark", Queues: "{}", Kinds: "[]", Host: "here", Now: now, LeaseUntil: later,
		})
		claim = db.ClaimJobsParams{
			WorkerID: worker, LeaseUntil: later, Now: later, Kinds: `["` + benchKind + `"]`, Queue: jobs.DefaultQueue, N: benchSlots,
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	if err := port.StoreOf(store).Write(b.Context(), turn); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	for range b.N {
		complete = db.CompleteJobsParams{Now: now, WorkerID: claim.WorkerID, Attempt: 1, Ids: claimed}
		if err := port.StoreOf(store).Write(b.Context(), turn); err != nil {
			b.Fatal(err)
		}
	}
	return benchSlots
}

// benchDrain runs jobs from their claim to their end. Its allocations and bytes are the same in each run.
func benchDrain(b *testing.B, client *jobs.Client) int {
	benchFill(b, client, b.N)
	runner, err := jobs.NewRunner(client, jobs.Config{
		Queues: map[string]int{jobs.DefaultQueue: benchSlots}, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		b.Fatal(err)
	}
	type args struct {
		N   int    `json:"n"`
		Pad string `json:"pad"`
	}
	jobs.Kind[args]{Name: benchKind}.Handle(runner, func(context.Context, jobs.Job, args) error { return nil })
	b.ResetTimer()
	if err := runner.Drain(b.Context()); err != nil {
		b.Fatal(err)
	}
	return 1
}

func benchFill(b *testing.B, client *jobs.Client, n int) {
	b.Helper()
	payloads := benchPayloads(min(n, 10*benchBatch))
	for done := 0; done < n; done += len(payloads) {
		if _, err := client.EnqueueMany(b.Context(), benchKind, payloads[:min(len(payloads), n-done)]); err != nil {
			b.Fatal(err)
		}
	}
}

// benchPayloads returns n payloads of about 100 bytes each.
func benchPayloads(n int) []json.RawMessage {
	list := make([]json.RawMessage, n)
	for i := range list {
		list[i] = fmt.Appendf(nil, `{"n":%d,"pad":"0123456789012345678901234567890123456789012345678901234567890123456789"}`, i)
	}
	return list
}
