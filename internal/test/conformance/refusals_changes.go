package conformance

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// A job that a rule of the application does not let change stays as it is and is named; a change of many jobs changes all others.
func testRefusedChanges(f *fixture, _ func(*fixture, string)) {
	ids := f.addMany("changed", 12, jobs.MaxAttempts(1))
	refused := ids[slices.IndexFunc(ids, func(id int64) bool { return id%50 == 9 })]
	in := inspect.New(f.client)
	one := func(what string, change func(id int64) error) {
		f.Helper()
		before := f.get(refused)
		err := change(refused)
		var this *jobs.RefusedError
		if !errors.As(err, &this) || this.N != 1 || !slices.Equal(this.Jobs, []int64{refused}) ||
			!strings.Contains(err.Error(), "no change today") || !strings.Contains(err.Error(), what+" job ") ||
			errors.Is(err, jobs.ErrStatus) || errors.Is(err, jobs.ErrUnavailable) {
			f.Errorf("%s: %v", what, err)
		}
		after := f.get(refused)
		want(f, "status of the job that "+what+" is refused for", after.Status, before.Status)
		want(f, "priority of the job that "+what+" is refused for", after.Priority, before.Priority)
	}
	many := func(what string, status jobs.Status, n int64, err error) {
		f.Helper()
		var some *jobs.RefusedError
		if !errors.As(err, &some) || !slices.Equal(some.Jobs, []int64{refused}) || some.N != 1 || !strings.Contains(err.Error(), "no change today") {
			f.Errorf("%s: %v", what, err)
		}
		want(f, "jobs that were changed by "+what, n, int64(len(ids)-1))
		for _, id := range ids {
			if have := f.get(id).Status; (have == status) == (id == refused) {
				f.Errorf("after %s job %d is %s; %d is refused", what, id, have, refused)
			}
		}
	}
	fail := func() {
		f.drain(jobs.Config{}, on("changed", func(context.Context, jobs.Job) error { return errors.New("no") }))
	}

	one("update", func(id int64) error { return f.client.Update(f.ctx, id, jobs.SetPriority(9), jobs.SetPayload(7)) })
	one("cancel", func(id int64) error { _, err := f.client.Cancel(f.ctx, id); return err })
	for _, id := range ids {
		if id != refused {
			f.must(f.client.Update(f.ctx, id, jobs.SetPriority(9)))
			want(f, "priority of another job", f.get(id).Priority, 9)
		}
	}
	n, err := in.CancelMany(f.ctx, ids)
	many("CancelMany", jobs.StatusCancelled, int64(n), err)
	fail()
	want(f, "status of the refused job, which runs", f.get(refused).Status, jobs.StatusFailed)
	one("retry", func(id int64) error { return f.client.Retry(f.ctx, id) })
	n, err = in.RetryMany(f.ctx, ids)
	many("RetryMany", jobs.StatusPending, int64(n), err)
	fail()
	retried, err := in.RetryFailed(f.ctx, inspect.FailedFilter{Kind: "changed"})
	many("RetryFailed", jobs.StatusPending, retried, err)

	ids = f.addMany("changed", 50, jobs.UserID("u"))
	refused = ids[slices.IndexFunc(ids, func(id int64) bool { return id%50 == 9 })]
	forgotten, err := in.Forget(f.ctx, "u")
	many("Forget", jobs.StatusCancelled, int64(forgotten.Erased), err)
	want(f, "jobs of a forgotten user that are not ended", forgotten.Live, 1)
}
