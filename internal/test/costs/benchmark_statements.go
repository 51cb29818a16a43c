package costs

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/sqluice/sqluice/db"
	port "github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
)

// benchJobs is the number of jobs of one transaction of BenchmarkStatements.
const benchJobs = 100

// BenchmarkStatements measures the statements that a reader of the SQL meets first, each in an empty database that open makes. One
// operation is a transaction over 100 jobs; ns/job is the time of the measured statements alone, without BEGIN and COMMIT.
func BenchmarkStatements(b *testing.B, open func(b *testing.B) jobs.Store) {
	for _, one := range []struct {
		name string
		run  func(*statementBench) func(context.Context, db.Querier) error
	}{
		{"Enqueue", (*statementBench).enqueue},
		{"Claim", (*statementBench).claim},
		{"Complete", (*statementBench).complete},
		{"Retry", (*statementBench).retry},
		{"Rescue", (*statementBench).rescue},
		{"Report", (*statementBench).report},
		{"Prune", (*statementBench).prune},
	} {
		b.Run(one.name, func(b *testing.B) {
			s := &statementBench{B: b, store: port.StoreOf(open(b))}
			s.write(s.register)
			run := one.run(s)
			b.ResetTimer()
			for range b.N {
				s.write(run)
			}
			b.ReportMetric(float64(s.spent.Nanoseconds())/float64(b.N)/benchJobs, "ns/job")
		})
	}
}

// statementBench is a database with a worker.
type statementBench struct {
	*testing.B
	store  port.Store
	worker int64
	spent  time.Duration // in the measured statements
}

func (s *statementBench) write(fn func(context.Context, db.Querier) error) {
	s.Helper()
	if err := s.store.Write(s.Context(), fn); err != nil {
		s.Fatal(err)
	}
}

// now returns the store's time, in microseconds.
func (s *statementBench) now() int64 { return s.store.Now().UnixMicro() }

// measured runs a statement and adds its time.
func (s *statementBench) measured(statement func() error) error {
	begin := time.Now()
	err := statement()
	s.spent += time.Since(begin)
	return err
}

// register makes a worker, which the next claims are for.
func (s *statementBench) register(ctx context.Context, q db.Querier) (err error) {
	s.worker, err = q.RegisterWorker(ctx, db.RegisterWorkerParams{
		Name: "benchmark", Queues: "{}", Kinds: "[]", Host: "here", Now: s.now(), LeaseUntil: s.now() + time.Hour.Microseconds(),
	})
	return err
}

// add enqueues jobs that are due.
func (s *statementBench) add(ctx context.Context, q db.Querier) error {
	now := s.now()
	for range benchJobs {
		if _, err := q.EnqueueKeylessJob(ctx, db.EnqueueKeylessJobParams{
			Kind: benchKind, Queue: jobs.DefaultQueue, Payload: `{"n": 1}`, Status: string(jobs.StatusPending), RunAfter: now, MaxAttempts: 25, Now: now,
		}); err != nil {
			return err
		}
	}
	return nil
}

// take claims all jobs that are due and returns their ids.
func (s *statementBench) take(ctx context.Context, q db.Querier) ([]int64, error) {
	now := s.now() + time.Second.Microseconds()
	rows, err := q.ClaimJobs(ctx, db.ClaimJobsParams{
		WorkerID: s.worker, LeaseUntil: now + time.Hour.Microseconds(), Now: now, Kinds: `["` + benchKind + `"]`, Queue: jobs.DefaultQueue, N: benchJobs,
	})
	ids := make([]int64, len(rows))
	for i, row := range rows {
		ids[i] = row.ID
	}
	if err == nil && len(ids) != benchJobs {
		err = fmt.Errorf("%d jobs claimed, not %d", len(ids), benchJobs)
	}
	return ids, err
}

// held adds jobs and claims them.
func (s *statementBench) held(ctx context.Context, q db.Querier) ([]int64, error) {
	if err := s.add(ctx, q); err != nil {
		return nil, err
	}
	return s.take(ctx, q)
}

func (s *statementBench) enqueue() func(context.Context, db.Querier) error {
	return func(ctx context.Context, q db.Querier) error {
		return s.measured(func() error { return s.add(ctx, q) })
	}
}

func (s *statementBench) claim() func(context.Context, db.Querier) error {
	return func(ctx context.Context, q db.Querier) error {
		if err := s.add(ctx, q); err != nil {
			return err
		}
		return s.measured(func() error {
			_, err := s.take(ctx, q)
			return err
		})
	}
}

func (s *statementBench) complete() func(context.Context, db.Querier) error {
	return func(ctx context.Context, q db.Querier) error {
		ids, err := s.held(ctx, q)
		if err != nil {
			return err
		}
		return s.measured(func() error { return s.done(ctx, q, ids) })
	}
}

// done completes jobs.
func (s *statementBench) done(ctx context.Context, q db.Querier, ids []int64) error {
	n, err := q.CompleteJobs(ctx, db.CompleteJobsParams{Now: s.now(), WorkerID: s.worker, Attempt: 1, Ids: listOfIDs(ids)})
	return wantRows(n, benchJobs, err)
}

// prune removes done jobs, among them the newest one.
func (s *statementBench) prune() func(context.Context, db.Querier) error {
	return func(ctx context.Context, q db.Querier) error {
		ids, err := s.held(ctx, q)
		if err != nil {
			return err
		}
		if err := s.done(ctx, q, ids); err != nil {
			return err
		}
		return s.measured(func() error {
			n, err := q.DeleteExpiredJobs(ctx, db.DeleteExpiredJobsParams{After: slices.Min(ids) - 1, LastID: slices.Max(ids), Now: s.now() + time.Second.Microseconds()})
			return wantRows(n, benchJobs, err)
		})
	}
}

// listOfIDs returns ids as a JSON list.
func listOfIDs(ids []int64) string {
	text := []byte{'['}
	for i, id := range ids {
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendInt(text, id, 10)
	}
	return string(append(text, ']'))
}

// wantRows returns an error unless a statement changed as many rows as it is to.
func wantRows(n, want int64, err error) error {
	if err == nil && n != want {
		err = fmt.Errorf("%d rows changed, not %d", n, want)
	}
	return err
}

// retry gives jobs another attempt in an hour, which no claim finds.
func (s *statementBench) retry() func(context.Context, db.Querier) error {
	return func(ctx context.Context, q db.Querier) error {
		ids, err := s.held(ctx, q)
		if err != nil {
			return err
		}
		return s.measured(func() error {
			for _, id := range ids {
				later, text := s.now()+time.Hour.Microseconds(), "no luck"
				n, err := q.ReturnJob(ctx, db.ReturnJobParams{
					Now: s.now(), Status: string(jobs.StatusScheduled), RunAfter: &later, LastError: &text, ID: id, Attempt: 1, WorkerID: s.worker,
				})
				if err := wantRows(n, 1, err); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// rescue rescues the jobs of a worker that is gone: all statements of a rescue.
func (s *statementBench) rescue() func(context.Context, db.Querier) error {
	return func(ctx context.Context, q db.Querier) error {
		ids, err := s.held(ctx, q)
		if err != nil {
			return err
		}
		if _, err := q.EndWorker(ctx, db.EndWorkerParams{Now: s.now(), EndReason: "crash", ID: s.worker}); err != nil {
			return err
		}
		if err := s.measured(func() error { return s.rescueStuck(ctx, q) }); err != nil {
			return err
		}
		for _, id := range ids { // which leaves the next rescue its own jobs alone
			if _, err := q.DeleteJob(ctx, db.DeleteJobParams{ID: id}); err != nil {
				return err
			}
		}
		return s.register(ctx, q)
	}
}

func (s *statementBench) rescueStuck(ctx context.Context, q db.Querier) error {
	n, err := q.RecordStuckJobs(ctx, db.RecordStuckJobsParams{Now: s.now()})
	if err := wantRows(n, benchJobs, err); err != nil {
		return err
	}
	if _, err := q.CountCrashes(ctx); err != nil {
		return err
	}
	if _, err := q.EndStuckJobs(ctx, db.EndStuckJobsParams{Now: s.now(), DefaultAttempts: jobs.DefaultMaxAttempts, MaxCrashes: 3}); err != nil {
		return err
	}
	reset, err := q.ResetStuckJobs(ctx, s.now())
	return wantRows(int64(len(reset)), benchJobs, err)
}

// report groups 100 failed jobs.
func (s *statementBench) report() func(context.Context, db.Querier) error {
	s.write(func(ctx context.Context, q db.Querier) error {
		ids, err := s.held(ctx, q)
		if err != nil {
			return err
		}
		for i, id := range ids {
			text := "error " + strconv.Itoa(i%10)
			n, err := q.EndJob(ctx, db.EndJobParams{Now: s.now(), Status: string(jobs.StatusFailed), LastError: &text, ID: id, Attempt: 1, WorkerID: s.worker})
			if err := wantRows(n, 1, err); err != nil {
				return err
			}
		}
		return nil
	})
	return func(ctx context.Context, q db.Querier) error {
		return s.measured(func() error {
			rows, err := q.ReportFailedJobs(ctx, db.ReportFailedJobsParams{Most: 10_000, N: 100})
			return wantRows(int64(len(rows)), 10, err)
		})
	}
}
