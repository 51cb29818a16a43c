package jobs

import (
	"testing"
	"time"
)

func TestPruneAgain(t *testing.T) {
	for _, test := range []struct {
		name string
		sum  pruned
		took time.Duration
		want time.Duration
	}{
		{"nothing there", pruned{}, 0, pruneEvery},
		{"worth it, however long", pruned{looked: 1000, deleted: 900}, time.Hour, pruneEvery},
		{"just worth it", pruned{looked: 1000, deleted: 100}, time.Hour, pruneEvery},
		{"looked in vain, shortly", pruned{looked: 1000, deleted: 99}, 10 * time.Millisecond, pruneEvery},
		{"looked in vain for long", pruned{looked: 1e6, deleted: 1}, 6 * time.Second, 10 * time.Minute},
		{"looked in vain for very long", pruned{looked: 1e9}, time.Hour, pruneLatest},
	} {
		t.Run(test.name, func(t *testing.T) {
			if have := pruneAgain(test.sum, test.took); have != test.want {
				t.Errorf("the pause is %s, not %s", have, test.want)
			}
		})
	}
}
