package conformance

import (
	"context"
	"errors"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

func testRecount(f *fixture) {
	id := f.enqueue("k")
	f.write(func(ctx context.Context, q db.Querier) error { // like a program that does not keep the counts
		_, err := q.CancelWaitingJob(ctx, db.CancelWaitingJobParams{Now: f.store.Now().UnixMicro(), ID: id})
		return err
	})
	wrong, err := inspect.New(f.client).Recount(f.ctx)
	f.must(err)
	want(f, "the number of wrong counts", wrong, 1)
	f.wantCounts()
	wrong, err = inspect.New(f.client).Recount(f.ctx)
	f.must(err)
	want(f, "the number of wrong counts", wrong, 0)
}

// Jobs are enqueued, end, wait again and are deleted while two clients recount: the counts are exact afterwards, and a count that was wrong
// before is corrected once.
func testRecountBesideWrites(f *fixture) {
	const wrong = 30
	for range wrong {
		id := f.enqueue("wrong")
		f.write(func(ctx context.Context, q db.Querier) error { // like a program that does not keep the counts
			_, err := q.CancelWaitingJob(ctx, db.CancelWaitingJobParams{Now: f.store.Now().UnixMicro(), ID: id})
			return err
		})
	}
	f.start(jobs.Config{}, on("k", nothing), on("fails", func(context.Context, jobs.Job) error { return jobs.Discard(errors.New("for good")) }))
	recounts := make(chan error, 2)
	for _, client := range []*jobs.Client{f.client, f.elsewhere()} {
		go func() {
			for range 10 {
				if _, err := inspect.New(client).Recount(f.ctx); err != nil {
					recounts <- err
					return
				}
			}
			recounts <- nil
		}()
	}
	for running := 2; running > 0; {
		ended := f.ended(f.enqueue("k"))
		f.must(f.client.Delete(f.ctx, ended.ID))
		failed := f.ended(f.enqueue("fails"))
		f.must(f.client.Retry(f.ctx, failed.ID))
		f.ended(failed.ID)
		_, err := f.client.Cancel(f.ctx, f.enqueue("k", jobs.In(time.Hour)))
		f.must(err)
		select {
		case err := <-recounts:
			f.must(err)
			running--
		default:
		}
	}
	f.wantCounts()
}
