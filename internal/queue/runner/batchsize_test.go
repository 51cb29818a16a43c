package runner

import (
	"testing"
	"time"
)

// TestBatchSize checks that turns take about the intended time for any time per row, whatever came before.
func TestBatchSize(t *testing.T) {
	const slots = 20
	turns := func(p batchSize, n int, fixed, each time.Duration) (batchSize, time.Duration) {
		held := time.Duration(0)
		for range n {
			rows := 2 * p.of(slots) // each cycle claims as many jobs as end
			held = fixed + time.Duration(rows)*each
			p = p.adjust(rows, held)
		}
		return p, held
	}
	p, _ := turns(batchSize(batchSlots), 20, time.Millisecond, 20*time.Microsecond)
	if p.of(slots) != ClaimMost {
		t.Errorf("a fast machine claims %d, want %d", p.of(slots), ClaimMost)
	}
	p, held := turns(p, 20, time.Millisecond, time.Millisecond)
	if held > holdGoal || held < holdGoal/5 {
		t.Errorf("with 1 ms for each row turns take %s, want about %s", held, holdGoal)
	}
	p, _ = turns(p, 20, 500*time.Millisecond, 0)
	if p.of(slots) != slots {
		t.Errorf("with 500 ms for each turn it claims %d, want %d", p.of(slots), slots)
	}
	if p, _ = turns(p, 20, time.Millisecond, 0); p.of(slots) != ClaimMost {
		t.Errorf("when the machine is fast again it claims %d, want %d", p.of(slots), ClaimMost)
	}
}

// TestBatchSizeOutlivesIdleTimes checks that short turns between long ones do not make the next long one longer.
func TestBatchSizeOutlivesIdleTimes(t *testing.T) {
	const each = time.Millisecond
	p := batchSize(batchSlots)
	for range 20 {
		rows := 2 * p.of(1)
		p = p.adjust(rows, time.Duration(rows)*each)
	}
	for range 100 {
		p = p.adjust(2, 2*each)
	}
	if held := time.Duration(2*p.of(1)) * each; held > holdGoal {
		t.Errorf("after turns of 2 rows one of many takes %s, want at most %s", held, holdGoal)
	}
}
