package postgres

import (
	"context"
	"errors"
	"testing"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/jobs"
)

var pipelineTests = []engineTest{
	{"InOrder", testPipelineInOrder},
	{"Fails", testPipelineFails},
	{"Panics", testPipelinePanics},
}

// pauses returns a function that pauses a queue and records the number of statements begun before it.
func pauses(name string, ran *[]string) func(context.Context, db.Querier) error {
	return func(ctx context.Context, q db.Querier) error {
		n, err := q.Pause(ctx, db.PauseParams{Queue: name, Now: 0})
		if err == nil && n != 1 {
			err = errors.New("the queue was paused before")
		}
		*ran = append(*ran, name)
		return err
	}
}

// writeTogether runs functions in one transaction, beginning with it.
func writeTogether(t *testing.T, store *backend, fns ...func(context.Context, db.Querier) error) error {
	t.Helper()
	return store.writer.write(context.WithoutCancel(t.Context()), 1, store.writer.transact, func(ctx context.Context, tx *transaction, q db.Querier) error {
		return tx.together(ctx, q, fns)
	})
}

// Each function gets the answers to its own statements, whether or not the connection has prepared them; functions without a
// statement or with several run as well.
func testPipelineInOrder(t *testing.T, site *site) {
	store, _ := open(t, with(site.server.Copy(t, site.template), "pool_max_conns=1"))
	for range 3 { // the first time nothing is prepared
		var ran []string
		none := false
		must(t, writeTogether(t, store,
			pauses("a", &ran),
			func(context.Context, db.Querier) error { none = true; return nil },
			func(ctx context.Context, q db.Querier) error {
				for _, name := range []string{"b", "c"} {
					if err := pauses(name, &ran)(ctx, q); err != nil {
						return err
					}
				}
				return nil
			},
			pauses("d", &ran),
		))
		want(t, "functions without a statement that ran", none, true)
		want(t, "statements", len(ran), 4)
		must(t, writeTogether(t, store, resumes("a"), resumes("b"), resumes("c"), resumes("d")))
	}
}

func resumes(name string) func(context.Context, db.Querier) error {
	return func(ctx context.Context, q db.Querier) error {
		n, err := q.Resume(ctx, db.ResumeParams{Queue: name})
		if err == nil && n != 1 {
			err = errors.New("the queue was not paused")
		}
		return err
	}
}

// The first error is returned, nothing is committed, and the connection can be used again.
func testPipelineFails(t *testing.T, site *site) {
	store, _ := open(t, with(site.server.Copy(t, site.template), "pool_max_conns=1"))
	no := errors.New("no")
	long := func(ctx context.Context, q db.Querier) error { // refused by a CHECK
		_, err := q.Pause(ctx, db.PauseParams{Queue: "", Now: 0})
		return err
	}
	for name, test := range map[string]struct {
		fn  func(context.Context, db.Querier) error
		own bool
	}{
		"before a statement": {func(context.Context, db.Querier) error { return no }, true},
		"after a statement": {func(ctx context.Context, q db.Querier) error {
			if _, err := q.ListMoves(ctx); err != nil {
				return err
			}
			return no
		}, true},
		"the server's": {long, false},
	} {
		for range 2 {
			var ran []string
			err := writeTogether(t, store, pauses("a", &ran), test.fn, pauses("b", &ran))
			if test.own != errors.Is(err, no) || err == nil {
				t.Errorf("%s: the error is %v", name, err)
			}
			must(t, writeTogether(t, store, pauses("a", &ran), pauses("b", &ran)))
			must(t, writeTogether(t, store, resumes("a"), resumes("b")))
		}
	}
}

// A panic is the write's error, and ends the other functions.
func testPipelinePanics(t *testing.T, site *site) {
	store, _ := open(t, with(site.server.Copy(t, site.template), "pool_max_conns=1"))
	for _, after := range []bool{false, true} {
		var ran []string
		err := writeTogether(t, store, pauses("a", &ran), func(ctx context.Context, q db.Querier) error {
			if after {
				if _, err := q.ListMoves(ctx); err != nil {
					return err
				}
			}
			panic("no")
		}, pauses("b", &ran))
		if err == nil || errors.Is(err, jobs.ErrUnknownOutcome) {
			t.Errorf("after a statement: %t: the error is %v", after, err)
		}
		must(t, writeTogether(t, store, pauses("a", &ran), resumes("a")))
	}
}
