package jobs

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
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
		{"very many, slowly", pruned{looked: 1e7, deleted: 1e7}, time.Minute, 20 * time.Second, 20 * time.Second},
		{"very many, very slowly", pruned{looked: 1e7, deleted: 1e7}, time.Hour, time.Hour, pruneEvery},
		{"after very many", pruned{looked: 2 * pruneMany, deleted: pruneMany}, 61 * time.Second, time.Second, pruneEvery},
		{"some in vain", pruned{looked: 5 * pruneMany / 2, deleted: pruneMany}, 10 * time.Second, time.Second, 14 * time.Second},
		{"just worth it", pruned{looked: 1e7, deleted: 1e6}, 4 * time.Second, 0, 8 * time.Second},
		{"looked in vain, shortly", pruned{looked: 1000, deleted: 99}, time.Minute, 10 * time.Millisecond, pruneEvery},
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
		rate        float64 // jobs that end in a second
		least, most int64   // that a pass removes
	}{
		{"many", 20_000, 0.99 * pruneMany, 1.01 * pruneMany},
		{"more than in a second", 100_000, 100_000, 150_000},
		{"few", 100, 5_900, 6_100},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				began, removed, passes := time.Now(), int64(0), 0
				keepPruning(ctx, func() (pruned, error) {
					found := int64(test.rate*time.Since(began).Seconds()) - removed
					time.Sleep(time.Duration(found) * 2 * time.Microsecond)
					removed += found
					if passes++; passes > 10 && (found < test.least || found > test.most) {
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

// After a pass that failed, whatever it had removed, and where there is nothing to do, the next comes a minute later, from the
// first on.
func TestKeepPruningEachMinute(t *testing.T) {
	for name, result := range map[string]struct {
		pruned
		error
	}{
		"failed": {pruned{looked: 1e6, deleted: 1e6}, errors.New("no")}, "nothing": {},
	} {
		t.Run(name, func(t *testing.T) {
			for range 20 { // the first pass comes at random
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithCancel(t.Context())
					var ended time.Time
					passes := 0
					keepPruning(ctx, func() (pruned, error) {
						if passes++; passes > 1 && time.Since(ended) != pruneEvery {
							t.Errorf("pass %d came %s after the one before", passes, time.Since(ended))
						}
						if passes == 5 {
							cancel()
						}
						ended = time.Now()
						return result.pruned, result.error
					})
				})
			}
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
		for range processes {
			all.Go(func() {
				keepPruning(ctx, func() (pruned, error) {
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
		if limit := int64(10 * pruneMany); most > limit { // a minute brings 24 times as many
			t.Errorf("one pass removed %d jobs, at most %d may be", most, limit)
		}
	})
}
