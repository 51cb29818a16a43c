package conformance

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/refusal"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// A refused job is tried again after twice the time at each refusal, up to the most of its action. After a try on
// demand, however soon, it is set aside again as after the first one.
func testRefusalTimes(f *fixture, _ func(*fixture, string)) {
	mosts := map[refusal.Action]time.Duration{refusal.Conflict: time.Minute, refusal.Prune: 24 * time.Hour}
	for _, action := range refusal.Actions() {
		most, first := 10*time.Minute, time.Second
		if mosts[action] != 0 {
			most = mosts[action]
		}
		if action == refusal.Prune {
			first = time.Minute
		}
		id := f.enqueue("k")
		began := f.store.Now().Truncate(time.Microsecond)
		now, pause := began, first
		for times := int64(1); times <= 12; times++ {
			row := f.noteRefusal(id, action, now, first)
			if have := time.UnixMicro(row.AgainAt).Sub(now); have != pause || row.Times != times ||
				row.FirstAt != began.UnixMicro() || row.LastAt != now.UnixMicro() {
				f.Fatalf("%s: after %d refusals it is tried again after %s, not %s: %+v", action, times, have, pause, row)
			}
			// A late try does not make the next pause longer.
			now = now.Add(pause + time.Duration(times)*time.Hour)
			pause = min(2*pause, most)
		}
		want(f, "the longest pause of "+string(action), pause, most)

		// A try on demand, as of a drain, begins with the first pause again: at the same instant, soon after, or when the clock was set back.
		for _, later := range []time.Duration{0, time.Millisecond, -time.Hour} {
			last := f.noteRefusal(id, action, now, first)
			again := time.UnixMicro(last.LastAt).Add(later)
			f.write(func(ctx context.Context, q db.Querier) error {
				n, err := q.RetryRefusals(ctx, db.RetryRefusalsParams{Action: string(action), Now: again.UnixMicro()})
				if n != 1 {
					f.Errorf("%s: %d jobs are tried on demand", action, n)
				}
				return err
			})
			row := f.noteRefusal(id, action, again, first)
			if have := time.UnixMicro(row.AgainAt).Sub(again); have != first {
				f.Errorf("%s: refused %s later on demand it is tried again after %s, not %s", action, later, have, first)
			}
			now = again.Add(24 * time.Hour)
		}
	}
}

// A job whose lease the database does not let renew loses it, and says why; the others of its worker keep theirs.
func testRefusedRenewal(f *fixture, _ func(*fixture, string)) {
	ids := f.addMany("renewed", 10)
	refused := ids[slices.IndexFunc(ids, func(id int64) bool { return id%50 == 8 })]
	release, lost := make(chan struct{}), make(chan jobs.Job, 100)
	f.start(jobs.Config{Queues: map[string]int{jobs.DefaultQueue: len(ids)}, Lease: 3 * time.Second},
		on("renewed", func(ctx context.Context, job jobs.Job) error {
			select {
			case <-release:
			case <-ctx.Done():
				if errors.Is(context.Cause(ctx), jobs.ErrLeaseLost) {
					lost <- job
				}
			}
			return nil
		}))
	first := map[int64]jobs.Job{}
	for _, id := range ids {
		first[id] = f.becomes(id, jobs.StatusRunning)
	}
	f.eventually("the refused renewal is named", func() bool {
		d, err := inspect.New(f.client).Why(f.ctx, refused)
		f.must(err)
		return slices.ContainsFunc(d.Findings, func(finding inspect.Finding) bool {
			return finding.Reason == inspect.ReasonRefused && strings.Contains(finding.Text, refusal.Renew.Phrase()) &&
				strings.Contains(finding.Text, "no renewal today")
		})
	})
	job := receive(f, "the end of the lease that is not renewed", lost)
	want(f, "the job that lost its lease", job.ID, refused)
	for _, e := range f.errors(refused) {
		want(f, "cause", e.Cause, jobs.CauseLost)
	}
	for _, id := range ids {
		if id == refused {
			continue
		}
		f.eventually("the lease of another job is renewed", func() bool {
			return f.get(id).LeaseUntil.Sub(first[id].LeaseUntil) > 1500*time.Millisecond
		})
		now := f.get(id)
		want(f, "attempt of another job", now.Attempt, 1)
		want(f, "holder of another job", now.WorkerID, first[id].WorkerID)
		f.wantWhy(id, inspect.ReasonRunning)
	}
	close(release)
	for _, id := range ids {
		job := f.ended(id)
		want(f, "status", job.Status, jobs.StatusDone)
		want(f, "crashes", job.Crashes, 0)
		if id != refused {
			want(f, "attempts of another job", job.Attempt, 1)
		}
	}
}

// noteRefusal notes that an action with a job is refused, and returns the row of it.
func (f *fixture) noteRefusal(id int64, action refusal.Action, now time.Time, first time.Duration) db.Refusal {
	f.Helper()
	var list []db.Refusal
	f.write(func(ctx context.Context, q db.Querier) (err error) {
		if err := q.NoteRefusal(ctx, db.NoteRefusalParams{
			JobID: id, Action: string(action), Message: "no", Now: now.UnixMicro(), AgainAt: now.Add(first).UnixMicro(),
		}); err != nil {
			return err
		}
		list, err = q.ListRefusals(ctx, id)
		return err
	})
	i := slices.IndexFunc(list, func(r db.Refusal) bool { return r.Action == string(action) })
	if i < 0 {
		f.Fatalf("job %d has no refusal of %s", id, action)
	}
	return list[i]
}
