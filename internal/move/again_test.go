package move

import (
	"context"
	"sync"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/engine"
)

// A finished move does not run a second time, also when the target has done and deleted every job since.
func testAgain(l *lab) {
	ids := l.enqueue(l.from, 25)
	l.moves(l.config())
	for range 2 {
		report := l.moves(l.config())
		if report.Since == 0 || len(report.Sums) != 0 || report.SourceOpen {
			l.Errorf("the report is %+v", report)
		}
		for _, id := range ids {
			if err := l.client(l.to).Delete(l.ctx, id); err != nil && len(l.everything(l.to).jobs) > 0 {
				l.Error(err)
			}
		}
	}
	if n := len(l.everything(l.to).jobs); n != 0 {
		l.Errorf("%d jobs came again", n)
	}
	l.wantOpen(l.to)
	l.wantClosed(l.from)
	c := l.config()
	c.KeepOpen = true
	_, err := Run(l.ctx, c)
	l.wantError(err, ErrElsewhere, "source "+l.from.name, "not copied")
	l.wantClosed(l.from)
}

func testKeepOpen(l *lab) {
	all := oddities()
	l.put(l.from, all)
	c := l.config()
	c.KeepOpen = true
	if report := l.moves(c); !report.SourceOpen || len(report.Sums) != 2*len(allTables()) {
		l.Errorf("the report is %+v", report)
	}
	l.wantEverything(l.to, all)
	l.wantOpen(l.from)
	l.wantOpen(l.to)
	l.enqueue(l.from, 1)
	l.refused(c, ErrNotEmpty)
}

// Rows that are being added when the source is closed are moved too, also when their transaction touches no other
// table.
func testLateJob(l *lab) {
	late := l.side(l.from).Store
	l.late(late, func(ctx context.Context, q db.Querier, _ int64) error {
		now := late.Now().UnixMicro()
		_, err := q.EnqueueJob(ctx, db.EnqueueJobParams{
			Kind: "late", Queue: "default", Payload: "{}", Status: "pending", MaxAttempts: 1, RunAfter: now, Now: now,
		})
		return err
	})
	if jobs := l.everything(l.to).jobs; len(jobs) != 2 || jobs[1].Kind != "late" {
		l.Errorf("the jobs are %+v", jobs)
	}
}

func testLateError(l *lab) {
	l.late(l.side(l.from).Store, func(ctx context.Context, q db.Querier, id int64) error {
		return q.AddJobError(ctx, db.AddJobErrorParams{JobID: id, Attempt: 1, WorkerID: 1, StartedAt: early + 1, EndedAt: early + 2, Cause: "error", Message: "late"})
	})
	if errs := l.everything(l.to).errors; len(errs) != 1 || errs[0].Message != "late" {
		l.Errorf("the errors are %+v", errs)
	}
}

func testLatePause(l *lab) {
	l.late(l.side(l.from).Store, func(ctx context.Context, q db.Querier, _ int64) error {
		_, err := q.Pause(ctx, db.PauseParams{Queue: "late", Now: early + 1})
		return err
	})
	if pauses := l.everything(l.to).pauses; len(pauses) != 1 || pauses[0].Queue != "late" {
		l.Errorf("the pauses are %+v", pauses)
	}
}

func testLateMark(l *lab) {
	l.late(l.side(l.from).Store, func(ctx context.Context, q db.Querier, _ int64) error {
		_, err := q.AddSensitiveFields(ctx, db.AddSensitiveFieldsParams{Now: early + 1, Items: `[["k", "late"]]`})
		return err
	})
	if marks := l.everything(l.to).marks; len(marks) != 1 || !marks[[2]string{"k", "late"}] {
		l.Errorf("sensitive fields are %+v", marks)
	}
}

// late moves a queue of one job with the id of write, while its transaction is not committed yet.
func (l *lab) late(late engine.Store, write func(ctx context.Context, q db.Querier, id int64) error) {
	l.Helper()
	id := l.enqueue(l.from, 1)[0]
	added, waiting := make(chan struct{}), make(chan struct{})
	committed := make(chan error, 1)
	commit := sync.OnceFunc(func() { close(waiting) })
	l.Cleanup(commit)
	go func() {
		committed <- late.Write(l.ctx, func(ctx context.Context, q db.Querier) error {
			err := write(ctx, q, id)
			close(added)
			<-waiting
			return err
		})
	}()
	<-added
	c := l.config()
	ended := make(chan error, 1)
	if l.from.waits == nil {
		// No other transaction can write while this one is open.
		c.From.Store = &hooked{c.From.Store, commit}
	}
	go func() {
		_, err := Run(l.ctx, c)
		ended <- err
	}()
	if l.from.waits != nil {
		l.eventually("the move waits for the transaction", func() bool {
			select {
			case err := <-ended:
				l.Fatalf("the move did not wait for an open transaction: %v", err)
			default:
			}
			return l.from.waits(l.T)
		})
		commit()
	}
	l.must(<-committed)
	l.must(<-ended)
}
