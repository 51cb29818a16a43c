package jobs

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqluice/sqluice/db"
)

func TestPruneAgain(t *testing.T) {
	for _, test := range []struct {
		name        string
		sum         pruned
		since, took time.Duration
		want        time.Duration
	}{
		{"nothing there", pruned{}, time.Minute, 0, pruneEvery},
		{"few", pruned{looked: 1000, deleted: 900}, time.Minute, time.Second, pruneEvery},
		{"few in a short time", pruned{looked: 1000, deleted: 900}, 5 * time.Second, time.Second, 9 * time.Second},
		{"none in a short time", pruned{looked: 0}, 5 * time.Second, time.Second, 9 * time.Second},
		{"as many as are to be", pruned{looked: pruneMany, deleted: pruneMany}, 20 * time.Second, 2 * time.Second, 18 * time.Second},
		{"twice as many", pruned{looked: 2 * pruneMany, deleted: 2 * pruneMany}, 20 * time.Second, 2 * time.Second, 8 * time.Second},
		{"half as many", pruned{looked: pruneMany, deleted: pruneMany / 2}, 20 * time.Second, 2 * time.Second, 38 * time.Second},
		{"a quarter as many", pruned{looked: pruneMany, deleted: pruneMany / 4}, 20 * time.Second, 2 * time.Second, 38 * time.Second},
		{"very many", pruned{looked: 1e7, deleted: 1e7}, time.Minute, 500 * time.Millisecond, pruneSoonest},
		{"very many, slowly", pruned{looked: 1e7, deleted: 1e7}, time.Minute, time.Hour, pruneSoonest},
		{"very many behind dead rows", pruned{1e7, 1e7, 2 * time.Second}, time.Minute, 20 * time.Second, 18 * time.Second},
		{"very many behind very many dead rows", pruned{1e7, 1e7, time.Minute}, time.Minute, time.Hour, pruneEvery},
		{"after very many", pruned{looked: 2 * pruneMany, deleted: pruneMany}, 61 * time.Second, time.Second, pruneEvery},
		{"some in vain", pruned{looked: 5 * pruneMany / 2, deleted: pruneMany}, 10 * time.Second, time.Second, 14 * time.Second},
		{"just worth it", pruned{looked: 1e7, deleted: 1e6}, 4 * time.Second, 0, 8 * time.Second},
		{"looked in vain, shortly", pruned{looked: 1000, deleted: 99}, time.Minute, 10 * time.Millisecond, pruneEvery},
		{"looked in vain, for long, in a short time", pruned{looked: 1e6}, 5 * time.Second, time.Second, 9 * time.Second},
		{"looked in vain, shortly, in a short time", pruned{looked: 500}, 5 * time.Second, 10 * time.Millisecond, 9990 * time.Millisecond},
		{"looked in vain for long", pruned{looked: 1e6, deleted: 1}, time.Minute, 6 * time.Second, 10 * time.Minute},
		{"looked in vain for very long", pruned{looked: 1e9}, time.Minute, time.Hour, pruneLatest},
	} {
		t.Run(test.name, func(t *testing.T) {
			if have := pruneAgain(test.sum, test.since, test.took); have != test.want {
				t.Errorf("the pause is %s, not %s", have, test.want)
			}
		})
	}
}

// Of jobs that end at some rate each pass finds about as many as are to be; of few that a minute brings.
func TestKeepPruning(t *testing.T) {
	for _, test := range []struct {
		name        string
		rate        float64       // jobs that end in a second
		each        time.Duration // to remove one
		least, most int64         // that a pass removes
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
				(&session{}).keepPruning(ctx, pruneEvery/2, func() (pruned, error) {
					found := int64(test.rate*time.Since(began).Seconds()) - removed
					time.Sleep(time.Duration(found) * test.each)
					removed += found
					if passes++; passes > 60 && (found < test.least || found > test.most) {
						t.Errorf("pass %d removed %d jobs", passes, found)
					}
					if passes == 100 {
						cancel()
					}
					return pruned{looked: found, deleted: found}, nil
				})
			})
		})
	}
}

// Where there is nothing to do, and after errors, the next pass comes so much later, from the first on.
func TestKeepPruningPauses(t *testing.T) {
	for _, test := range []struct {
		name   string
		result pruned
		err    error
		pause  time.Duration
	}{
		{"nothing there", pruned{}, nil, pruneEvery},
		{"failed at once", pruned{}, errors.New("no"), pruneEvery},
		{"failed after much", pruned{looked: 1e6, deleted: 1e6}, errors.New("no"), pruneFailed},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const first = 100 * time.Millisecond
				ctx, cancel := context.WithCancel(t.Context())
				began, passes := time.Now(), 0
				(&session{}).keepPruning(ctx, first, func() (pruned, error) {
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

// Several processes make not many more passes together than one would.
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
				(&session{}).keepPruning(ctx, time.Duration(i)*7*time.Second, func() (pruned, error) {
					mu.Lock()
					found := int64(rate*time.Since(began).Seconds()) - removed
					removed += found
					passes++
					if time.Since(began) > 10*time.Minute {
						most = max(most, found)
					}
					mu.Unlock()
					time.Sleep(time.Duration(found) * 2 * time.Microsecond)
					return pruned{looked: found, deleted: found}, nil
				})
			})
		}
		all.Wait()
		if limit := 3600 * rate / pruneMany * 5 / 4; passes > limit {
			t.Errorf("%d passes, at most %d may be", passes, limit)
		}
		if limit := int64(10 * pruneMany); most > limit { // a minute brings 1,200,000
			t.Errorf("one pass removed %d jobs, at most %d may be", most, limit)
		}
	})
}

// How long a pass takes to find the first job is told apart from what it does then.
func TestPruneWalk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const walk = 2 * time.Second
		store := &pruning{steps: []time.Duration{walk, time.Minute, time.Minute}}
		s := &session{client: New(store), config: Config{Retention: Retention{Cancelled: Forever, Failed: Forever}}}
		sum, err := s.pruneOnce(t.Context())
		if err == nil || sum.walk != walk || sum.looked != 2*chunk {
			t.Errorf("%+v, %v", sum, err)
		}
	})
}

// pruning is a store of jobs of which none is to be removed; its looks take some time, and the last one fails.
type pruning struct {
	Store
	steps []time.Duration
}

func (p *pruning) Now() time.Time { return time.Now() }

func (p *pruning) Shared() *Shared { return new(Shared) }

func (p *pruning) Observer() *Observer { return nil }

func (p *pruning) Read(ctx context.Context, fn func(context.Context, db.Querier) error) error {
	return fn(ctx, pruningQuerier{store: p})
}

type pruningQuerier struct {
	db.Querier
	store *pruning
}

func (q pruningQuerier) GetPruneStep(context.Context, db.GetPruneStepParams) (db.GetPruneStepRow, error) {
	time.Sleep(q.store.steps[0])
	if q.store.steps = q.store.steps[1:]; len(q.store.steps) == 0 {
		return db.GetPruneStepRow{}, errors.New("broken")
	}
	return db.GetPruneStepRow{LastID: 1}, nil
}
