package postgres

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/sqluice/sqluice/db"
)

var testKey = floorKey{"q", `["a","b"]`}

// slowFloors are of a queue whose looks from the beginning have been slow often enough.
func slowFloors(t *testing.T) (f *floors, clock *time.Time) {
	t.Helper()
	now := time.UnixMicro(1_000_000_000_000)
	clock = &now
	f = newFloors(func() time.Time { return *clock })
	for range slowLooks {
		if _, all := scopeOf(t, f); !all {
			t.Fatal("a look did not begin at the beginning while looks were fast")
		}
		f.looked(testKey, 2*slowLook, 1, false)
	}
	return f, clock
}

func scopeOf(t *testing.T, f *floors) (s scope, all bool) {
	t.Helper()
	text, all, err := f.scope(testKey.queue, testKey.kinds)
	must(t, err)
	must(t, json.Unmarshal([]byte(text), &s))
	return s, all
}

func claimedRow(kind string, priority, runAfter int64) db.ClaimJobsRow {
	return db.ClaimJobsRow{Kind: kind, Priority: priority, RunAfter: runAfter}
}

func text(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	must(t, err)
	return string(data)
}

func TestFastLooksBeginAtTheBeginning(t *testing.T) {
	f := newFloors(time.Now)
	for range 2 * slowLooks {
		s, all := scopeOf(t, f)
		if want := `{"between":[["a",-2147483648,2147483647],["b",-2147483648,2147483647]],"from":[]}`; !all || text(t, s) != want {
			t.Errorf("all is %v, the scope %s, not %s", all, text(t, s), want)
		}
		f.looked(testKey, slowLook/2, 1, false)
		f.claimed(testKey, []db.ClaimJobsRow{claimedRow("a", 0, 5_000_000)})
	}
}

func TestManyClaimedRowsAreNoSlowLook(t *testing.T) {
	f := newFloors(time.Now)
	for range 2 * slowLooks {
		if _, all := scopeOf(t, f); !all {
			t.Fatal("a claim of many rows counts as slow")
		}
		f.looked(testKey, slowLook+10*time.Millisecond, 1000, false)
	}
}

func TestSlowLooksBeginWhereClaimsHaveComeTo(t *testing.T) {
	f, clock := slowFloors(t)
	f.claimed(testKey, []db.ClaimJobsRow{claimedRow("a", 0, 5_000_000), claimedRow("a", 7, 3_000_000), claimedRow("a", 0, 4_000_000)})
	s, all := scopeOf(t, f)
	// Of kind a the priorities 7 and 0 have a floor, a second before the last job; above, between and below are looked
	// at from the beginning. Nothing is known of kind b.
	want := `{"between":[["a",7,2147483647],["a",0,7],["a",-2147483648,0],["b",-2147483648,2147483647]],` +
		`"from":[["a",7,2000000],["a",0,4000000]]}`
	if all || text(t, s) != want {
		t.Errorf("all is %v, the scope %s, not %s", all, text(t, s), want)
	}
	*clock = clock.Add(looksEvery)
	if _, all := scopeOf(t, f); !all {
		t.Error("a second later the look does not begin at the beginning")
	}
	f.looked(testKey, 2*slowLook, 1, false)
	if _, all := scopeOf(t, f); all {
		t.Error("every look begins at the beginning")
	}
}

func TestAClaimFollowsALookThatFoundSomething(t *testing.T) {
	f, clock := slowFloors(t)
	f.claimed(testKey, []db.ClaimJobsRow{claimedRow("a", 0, 5_000_000)})
	*clock = clock.Add(looksEvery)
	scopeOf(t, f)
	f.looked(testKey, 2*slowLook, 1, true) // it may lie before the floors
	if _, all := scopeOf(t, f); !all {
		t.Error("the claim begins at the floors")
	}
}

func TestFloorsEndWithTheSlowness(t *testing.T) {
	f, clock := slowFloors(t)
	f.claimed(testKey, []db.ClaimJobsRow{claimedRow("a", 0, 5_000_000)})
	*clock = clock.Add(looksEvery)
	scopeOf(t, f)
	f.looked(testKey, slowLook/2, 1, false) // vacuum has been there
	if _, all := scopeOf(t, f); !all {
		t.Error("looks are fast again and do not begin at the beginning")
	}
}

func TestAKindOfManyPrioritiesHasNoFloors(t *testing.T) {
	f, _ := slowFloors(t)
	var rows []db.ClaimJobsRow
	for p := range int64(mostPriorities + 1) {
		rows = append(rows, claimedRow("a", p, 5_000_000))
	}
	f.claimed(testKey, rows)
	if s, _ := scopeOf(t, f); len(s.From) > 0 || len(s.Between) != 2 {
		t.Errorf("the scope is %s", text(t, s))
	}
}
