package runner

import (
	"testing"
	"time"

	"github.com/sqluice/sqluice/db"
)

// A held job that this run does not know is no orphan while a cycle goes on that may have claimed it.
func TestOrphans(t *testing.T) {
	held := map[fence]db.ListHeldJobsRow{{1, 1}: {}}
	s := resting(t)
	h := &heartbeat{run: s}
	find := func(when string, want int) {
		t.Helper()
		if n := len(h.findOrphans(held)); n != want {
			t.Errorf("%s: %d orphans", when, n)
		}
	}
	first := s.cycles.begin()
	find("at the first look", 0)
	find("at the second, in the same cycle", 0)
	second := s.cycles.begin()
	find("in two cycles", 0)
	s.cycles.end(second)
	find("after the second", 0)
	third := s.cycles.begin()
	find("in the third", 0)
	s.cycles.end(first)
	find("after the first, in one that came later", 1)
	s.cycles.end(third)
	find("anew", 0)
	find("with no cycle", 1)
	find("anew", 0)
	h.kept = map[fence]keptOrphan{{1, 1}: {times: 1, again: time.Now().Add(time.Hour)}, {2, 1}: {times: 1}}
	find("while it is kept, at the first look", 0)
	find("and at the second", 0)
	if len(h.kept) != 1 {
		t.Errorf("%d orphans are kept: one is not held any more", len(h.kept))
	}
	s.running[fence{1, 1}] = &Attempt{}
	find("when it is known", 0)
}
