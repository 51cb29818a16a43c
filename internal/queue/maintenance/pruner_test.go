package maintenance

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/prune"
)

func TestPruneAgain(t *testing.T) {
	for _, test := range []struct {
		name        string
		sum         prune.Result
		since, took time.Duration
		want        time.Duration
	}{
		{"nothing there", prune.Result{}, time.Minute, 0, pruneEvery},
		{"few", prune.Result{Examined: 1000, Deleted: 900}, time.Minute, time.Second, pruneEvery},
		{"few in a short time", prune.Result{Examined: 1000, Deleted: 900}, 5 * time.Second, time.Second, 9 * time.Second},
		{"none in a short time", prune.Result{Examined: 0}, 5 * time.Second, time.Second, 9 * time.Second},
		{"as many as are to be", prune.Result{Examined: pruneMany, Deleted: pruneMany}, 20 * time.Second, 2 * time.Second, 18 * time.Second},
		{"twice as many", prune.Result{Examined: 2 * pruneMany, Deleted: 2 * pruneMany}, 20 * time.Second, 2 * time.Second, 8 * time.Second},
		{"half as many", prune.Result{Examined: pruneMany, Deleted: pruneMany / 2}, 20 * time.Second, 2 * time.Second, 38 * time.Second},
		{"a quarter as many", prune.Result{Examined: pruneMany, Deleted: pruneMany / 4}, 20 * time.Second, 2 * time.Second, 38 * time.Second},
		{"very many", prune.Result{Examined: 1e7, Deleted: 1e7}, time.Minute, 500 * time.Millisecond, pruneSoonest},
		{"very many, slowly", prune.Result{Examined: 1e7, Deleted: 1e7}, time.Minute, time.Hour, pruneSoonest},
		{"very many behind dead rows", prune.Result{Examined: 1e7, Deleted: 1e7, FirstRead: 2 * time.Second}, time.Minute, 20 * time.Second, 18 * time.Second},
		{"very many behind very many dead rows", prune.Result{Examined: 1e7, Deleted: 1e7, FirstRead: time.Minute}, time.Minute, time.Hour, pruneEvery},
		{"after very many", prune.Result{Examined: 2 * pruneMany, Deleted: pruneMany}, 61 * time.Second, time.Second, pruneEvery},
		{"some in vain", prune.Result{Examined: 5 * pruneMany / 2, Deleted: pruneMany}, 10 * time.Second, time.Second, 14 * time.Second},
		{"just worth it", prune.Result{Examined: 1e7, Deleted: 1e6}, 4 * time.Second, 0, 8 * time.Second},
		{"looked in vain, shortly", prune.Result{Examined: 1000, Deleted: 99}, time.Minute, 10 * time.Millisecond, pruneEvery},
		{"looked in vain, for long, in a short time", prune.Result{Examined: 1e6}, 5 * time.Second, time.Second, 9 * time.Second},
		{"looked in vain, shortly, in a short time", prune.Result{Examined: 500}, 5 * time.Second, 10 * time.Millisecond, 9990 * time.Millisecond},
		{"looked in vain for long", prune.Result{Examined: 1e6, Deleted: 1}, time.Minute, 6 * time.Second, 10 * time.Minute},
		{"looked in vain for very long", prune.Result{Examined: 1e9}, time.Minute, time.Hour, pruneLatest},
	} {
		t.Run(test.name, func(t *testing.T) {
			if have := pruneAgain(test.sum, test.since, test.took); have != test.want {
				t.Errorf("the pause is %s, not %s", have, test.want)
			}
		})
	}
}

// Where many jobs end, each pass finds about pruneMany of them, or more when pruneMany would take less than the shortest pause.
// Where few end, a pass finds the jobs of a minute.
func TestKeepPruning(t *testing.T) {
	for _, test := range []struct {
		name        string
		rate        float64       // the number of jobs that end in a second
		each        time.Duration // the time to remove one job
		least, most int64         // the bounds for the jobs that a pass removes
	}{
		{"many", 20_000, 2 * time.Microsecond, 0.99 * pruneMany, 1.01 * pruneMany},
		{"more than in a second", 100_000, 2 * time.Microsecond, 124_000, 126_000},
		{"nearly all the time", 100_000, 9 * time.Microsecond, 950_000, 1_050_000},
		{"few", 100, 2 * time.Microsecond, 5_900, 6_100},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				began, removed, passes := time.Now(), int64(0), 0
				keepPruning(ctx, pruneEvery/2, func() (prune.Result, error) {
					found := int64(test.rate*time.Since(began).Seconds()) - removed
					time.Sleep(time.Duration(found) * test.each)
					removed += found
					if passes++; passes > 60 && (found < test.least || found > test.most) {
						t.Errorf("pass %d removed %d jobs", passes, found)
					}
					if passes == 100 {
						cancel()
					}
					return prune.Result{Examined: found, Deleted: found}, nil
				})
			})
		})
	}
}

// Where there is nothing to do, and after errors, the pauses between passes grow, from the first pass on.
func TestKeepPruningPauses(t *testing.T) {
	for _, test := range []struct {
		name   string
		result prune.Result
		err    error
		pause  time.Duration
	}{
		{"nothing there", prune.Result{}, nil, pruneEvery},
		{"failed at once", prune.Result{}, errors.New("no"), pruneEvery},
		{"failed after much", prune.Result{Examined: 1e6, Deleted: 1e6}, errors.New("no"), pruneFailed},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const first = 100 * time.Millisecond
				ctx, cancel := context.WithCancel(t.Context())
				began, passes := time.Now(), 0
				keepPruning(ctx, first, func() (prune.Result, error) {
					if have, wanted := time.Since(began), first+time.Duration(passes)*test.pause; have != wanted {
						t.Errorf("pass %d begins after %s, not %s", passes, have, wanted)
					}
					if passes++; passes == 5 {
						cancel()
					}
					return test.result, test.err
				})
			})
		})
	}
}

// Several processes together make few more passes than one process would.
func TestKeepPruningTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const processes, rate = 8, 20_000
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		began, removed, passes, most := time.Now(), int64(0), 0, int64(0)
		var mu sync.Mutex
		var all sync.WaitGroup
		for i := range processes {
			all.Go(func() {
				keepPruning(ctx, time.Duration(i)*7*time.Second, func() (prune.Result, error) {
					mu.Lock()
					found := int64(rate*time.Since(began).Seconds()) - removed
					removed += found
					passes++
					if time.Since(began) > 10*time.Minute {
						most = max(most, found)
					}
					mu.Unlock()
					time.Sleep(time.Duration(found) * 2 * time.Microsecond)
					return prune.Result{Examined: found, Deleted: found}, nil
				})
			})
		}
		all.Wait()
		if limit := 3600 * rate / pruneMany * 5 / 4; passes > limit {
			t.Errorf("%d passes, at most %d may be", passes, limit)
		}
		if limit := int64(10 * pruneMany); most > limit { // 1,200,000 jobs end in a minute
			t.Errorf("one pass removed %d jobs, at most %d may be", most, limit)
		}
	})
}

// The time in which a pass finds the first job is measured apart from the rest of the pass.
func TestPruneWalk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const walk = 2 * time.Second
		store := &pruning{steps: []time.Duration{walk, time.Minute, time.Minute}}
		p := &Pruner{Scope: &engine.Scope{Store: store}, Retention: prune.Retention{Cancelled: prune.Forever, Failed: prune.Forever}}
		sum, err := p.Pass(t.Context())
		if err == nil || sum.FirstRead != walk || sum.Examined != 0 {
			t.Errorf("%+v, %v", sum, err)
		}
	})
}

// pruning is a store without jobs to prune; its looks take some time, and the last one fails.
type pruning struct {
	engine.Store
	steps []time.Duration
}

func (p *pruning) RefusesRow(error) bool { return false }

func (p *pruning) CanRetry(error) bool { return true }

func (p *pruning) Now() time.Time { return time.Now() }

func (p *pruning) Read(ctx context.Context, fn func(context.Context, db.Querier) error) error {
	return fn(ctx, pruningQuerier{store: p})
}

type pruningQuerier struct {
	db.Querier
	store *pruning
}

func (pruningQuerier) ListRetentions(context.Context) ([]db.Retention, error) { return nil, nil }

func (q pruningQuerier) GetPruneStep(context.Context, db.GetPruneStepParams) (db.GetPruneStepRow, error) {
	time.Sleep(q.store.steps[0])
	if q.store.steps = q.store.steps[1:]; len(q.store.steps) == 0 {
		return db.GetPruneStepRow{}, errors.New("broken")
	}
	return db.GetPruneStepRow{LastID: 1}, nil
}

// A part of a pass that is refused or fails stops no other part; a refused part is tried at growing intervals.
func TestPrunePartsThatFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refusal, fault := errors.New("refused"), errors.New("broken")
		p := &Pruner{Scope: &engine.Scope{Store: &refusing{refusal: refusal}}}
		runs := map[string]int{}
		for name, err := range map[string]error{"refused": refusal, "broken": fault, "sound": nil} {
			p.parts = append(p.parts, &part{name: name, run: func(context.Context) (prune.Result, error) {
				runs[name]++
				return prune.Result{Deleted: 1}, err
			}})
		}
		for range 10 {
			if sum, err := p.Pass(t.Context()); !errors.Is(err, fault) || errors.Is(err, refusal) || sum.Deleted < 2 {
				t.Errorf("%+v, %v", sum, err)
			}
			time.Sleep(pruneEvery)
		}
		if runs["sound"] != 10 || runs["broken"] != 10 || runs["refused"] != 4 {
			t.Errorf("the parts ran so often: %v", runs)
		}
	})
}

// refusing is a store that refuses rows with one error.
type refusing struct {
	engine.Store
	refusal error
}

func (r *refusing) RefusesRow(err error) bool { return errors.Is(err, r.refusal) }

func (*refusing) CanRetry(error) bool { return false }
