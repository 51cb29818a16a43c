package runner

import (
	"testing"
	"time"

	"github.com/sqluice/sqluice/db"
)

// A held job that this run does not know is no orphan during a cycle that may have claimed it.
func TestOrphans(t *testing.T) {
	held := map[fence]db.ListHeldJobsRow{{1, 1}: {}}
	s := restingRun(t)
	o := newHeartbeat(s.executor, s.presence, func() {}).orphans
	find := func(when string, want int) {
		t.Helper()
		if n := len(o.find(held)); n != want {
			t.Errorf("%s: %d orphans", when, n)
		}
	}
	first := s.ledger.cycles.openCycle()
	find("at the first look", 0)
	find("at the second, in the same cycle", 0)
	second := s.ledger.cycles.openCycle()
	find("in two cycles", 0)
	s.ledger.cycles.closeCycle(second)
	find("after the second", 0)
	third := s.ledger.cycles.openCycle()
	find("in the third", 0)
	s.ledger.cycles.closeCycle(first)
	find("after the first, in one that came later", 1)
	s.ledger.cycles.closeCycle(third)
	find("anew", 0)
	find("with no cycle", 1)
	find("anew", 0)
	o.refused = map[fence]refusedOrphan{{1, 1}: {times: 1, again: time.Now().Add(time.Hour)}, {2, 1}: {times: 1}}
	find("while it is refused, at the first look", 0)
	find("and at the second", 0)
	if len(o.refused) != 1 {
		t.Errorf("%d orphans are refused: one is not held any more", len(o.refused))
	}
	s.ledger.running[fence{1, 1}] = &Attempt{}
	find("when it is known", 0)
}
