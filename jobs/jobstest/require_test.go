package jobstest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/jobstest"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

func to(name string) func(jobs.Job, letter) bool {
	return func(_ jobs.Job, args letter) bool { return args.To == name }
}

func TestRequireEnqueued(t *testing.T) {
	t.Parallel()
	q := jobstest.New(t, jobstest.StartAt(time.Date(2031, 5, 17, 8, 0, 0, 0, time.UTC)))
	jobstest.RequireNotEnqueued(t, q.Client, mail, nil)
	wantFatal(t, "no job of kind mail matches: there are none of this kind", func(tb testing.TB) {
		jobstest.RequireEnqueued(tb, q.Client, mail, to("ann"))
	})
	ann := enqueue(t, q, "ann")
	enqueue(t, q, "ben", jobs.In(time.Hour), jobs.Queue("slow"))
	enqueue(t, q, "ann")
	want(t, "the first that matches", jobstest.RequireEnqueued(t, q.Client, mail, to("ann")).ID, ann)
	want(t, "the first of all", jobstest.RequireEnqueued(t, q.Client, mail, nil).ID, ann)
	jobstest.RequireNotEnqueued(t, q.Client, mail, to("cid"))
	wantFatal(t, strings.Join([]string{
		"no job of kind mail matches:",
		`  job 1, pending, queue default: {"to":"ann"}`,
		`  job 2, scheduled, queue slow, due 2031-05-17 09:00:00Z: {"to":"ben"}`,
		`  job 3, pending, queue default: {"to":"ann"}`,
	}, "\n"), func(tb testing.TB) { jobstest.RequireEnqueued(tb, q.Client, mail, to("cid")) })
	wantFatal(t, "a job of kind mail matches:\n  job 2,", func(tb testing.TB) {
		jobstest.RequireNotEnqueued(tb, q.Client, mail, to("ben"))
	})
}

func TestRequireEnqueuedInsideATransaction(t *testing.T) {
	t.Parallel()
	q := jobstest.New(t)
	tx, err := q.DB().BeginTx(t.Context(), nil)
	must(t, err)
	inside := q.With(sqlite.Tx(tx))
	_, err = mail.Enqueue(t.Context(), inside, letter{"ann"})
	must(t, err)
	jobstest.RequireEnqueued(t, inside, mail, to("ann"))
	jobstest.RequireNotEnqueued(t, q.Client, mail, nil)
	must(t, tx.Rollback())
	jobstest.RequireNotEnqueued(t, q.Client, mail, nil)
}

// A kind with fields that only its handler may see is matched by its whole payload.
func TestRequireEnqueuedOfASensitiveKind(t *testing.T) {
	t.Parallel()
	q := jobstest.New(t)
	secret := mail
	secret.Sensitive = []string{"to"}
	_, err := secret.Enqueue(t.Context(), q.Client, letter{"ann"})
	must(t, err)
	jobstest.RequireEnqueued(t, q.Client, secret, to("ann"))
}

func TestRequireEnqueuedListsAFew(t *testing.T) {
	t.Parallel()
	q := jobstest.New(t)
	_, err := mail.EnqueueMany(t.Context(), q.Client, make([]letter, 30))
	must(t, err)
	wantFatal(t, "and 10 more", func(tb testing.TB) { jobstest.RequireEnqueued(tb, q.Client, mail, to("ann")) })
}
