package limits

import (
	"math/rand/v2"
	"testing"

	"github.com/sqluice/sqluice/db"
)

// In any time there are at most as many starts as the rate gives, and a burst, whenever claims come and however many they take.
func TestStartsInEveryWindow(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		row := db.ReadLimitsRow{Starts: 1 + random.Int64N(50), Period: 1_000_000, Burst: random.Int64N(8)}
		interval := (row.Period + row.Starts - 1) / row.Starts
		now, starts := int64(1_000_000_000), []int64(nil)
		for range 100 {
			now += random.Int64N(3 * interval)
			s := ofKey(row, now)
			n := min(s.room, random.Int64N(10))
			for range n {
				starts = append(starts, now)
			}
			row.PaidUntil = s.spend(now, n)
			if at := s.readyAt(now); ofKey(row, *at).room == 0 {
				t.Fatalf("%+v: no start at %d, when one should be ready", row, *at)
			} else if *at > now && ofKey(row, *at-1).room > 0 {
				t.Fatalf("%+v: a start is possible before %d", row, *at)
			}
		}
		for i := range starts {
			for j := i; j < len(starts); j++ {
				if most := (starts[j]-starts[i])/interval + max(1, row.Burst); int64(j-i+1) > most {
					t.Fatalf("%+v: %d starts in %d us", row, j-i+1, starts[j]-starts[i])
				}
			}
		}
	}
}

// A limit of running jobs has room for the rest. Without keyless jobs an end makes its lanes ready, with some a time does.
func TestRoomOfRunningJobs(t *testing.T) {
	for _, c := range []struct {
		running, active, keyless, room int64
		waitsForEnd                    bool
	}{
		{0, 7, 0, mostRoom, false}, {3, 1, 0, 2, false}, {3, 3, 0, 0, true}, {3, 5, 0, 0, true}, {3, 2, 1, 0, false},
	} {
		s := ofKey(db.ReadLimitsRow{Running: c.running, Active: c.active, Keyless: c.keyless}, 1000)
		if s.room != c.room || (s.readyAt(1000) == nil) != c.waitsForEnd {
			t.Errorf("%+v: room %d, ready at %v", c, s.room, s.readyAt(1000))
		}
	}
	closed := ofKey(db.ReadLimitsRow{Running: 3, ClosedUntil: 2000}, 1000)
	if at := closed.readyAt(1000); closed.room != 0 || at == nil || *at != 2000 {
		t.Errorf("a closed key has room %d and is ready at %v", closed.room, at)
	}
}
