package postgres

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/sqluice/sqluice/db"
)

var testKey = floorKey{"q", `["a","b"]`}

// slowFloors are of a queue whose looks from the beginning have been slow often enough.
func slowFloors(t *testing.T) (f *floors, clock *time.Time, below *[]string) {
	t.Helper()
	now := time.UnixMicro(1_000_000_000_000)
	clock, below = &now, &[]string{}
	f = newFloors(func() time.Time { return *clock }, func(key floorKey, scope string) {
		if key != testKey {
			t.Errorf("a look below the floors of %v", key)
		}
		*below = append(*below, scope)
	})
	for range slowLooks {
		if _, all := scopeOf(t, f); !all {
			t.Fatal("a look did not begin at the beginning while looks were fast")
		}
		f.looked(testKey, 2*slowLook, 1)
	}
	return f, clock, below
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
	f := newFloors(time.Now, nil)
	for range 2 * slowLooks {
		s, all := scopeOf(t, f)
		if want := `{"between":[["a",-2147483648,2147483647],["b",-2147483648,2147483647]],"from":[],"before":[]}`; !all || text(t, s) != want {
			t.Errorf("all is %v, the scope %s, not %s", all, text(t, s), want)
		}
		f.looked(testKey, slowLook/2, 1)
		f.claimed(testKey, []db.ClaimJobsRow{claimedRow("a", 0, 5_000_000)})
	}
}

func TestManyClaimedRowsAreNoSlowLook(t *testing.T) {
	f := newFloors(time.Now, nil)
	for range 2 * slowLooks {
		if _, all := scopeOf(t, f); !all {
			t.Fatal("a claim of many rows counts as slow")
		}
		f.looked(testKey, slowLook+10*time.Millisecond, 1000)
	}
}

func TestSlowLooksBeginWhereClaimsHaveComeTo(t *testing.T) {
	f, _, _ := slowFloors(t)
	f.claimed(testKey, []db.ClaimJobsRow{claimedRow("a", 0, 5_000_000), claimedRow("a", 7, 3_000_000), claimedRow("a", 0, 4_000_000)})
	s, all := scopeOf(t, f)
	// Of kind a the priorities 7 and 0 have a floor, a second before the last job; above, between and below are looked
	// at from the beginning. Nothing is known of kind b.
	want := `{"between":[["a",7,2147483647],["a",0,7],["a",-2147483648,0],["b",-2147483648,2147483647]],` +
		`"from":[["a",7,2000000],["a",0,4000000]],"before":[]}`
	if all || text(t, s) != want {
		t.Errorf("all is %v, the scope %s, not %s", all, text(t, s), want)
	}
}

func TestLooksBelowTheFloors(t *testing.T) {
	f, clock, below := slowFloors(t)
	scopeOf(t, f)
	if len(*below) > 0 {
		t.Fatalf("a look below floors that are not there: %s", *below)
	}
	f.claimed(testKey, []db.ClaimJobsRow{claimedRow("a", 0, 5_000_000), claimedRow("a", 7, 3_000_000)})
	looks := func(want int, when string) {
		t.Helper()
		if _, all := scopeOf(t, f); all {
			t.Errorf("%s the claim begins at the beginning", when)
		}
		if len(*below) != want {
			t.Fatalf("%s there were %d looks, not %d", when, len(*below), want)
		}
	}
	looks(1, "at first")
	if want := `{"between":[],"from":[],"before":[["a",7,2000000],["a",0,4000000]]}`; (*below)[0] != want {
		t.Errorf("the look is %s, not %s", (*below)[0], want)
	}
	*clock = clock.Add(time.Hour)
	looks(1, "while one goes on")
	if f.lookedBelow(testKey, slowLook, false) {
		t.Error("a slow look that finds nothing wakes workers")
	}
	*clock = clock.Add(looksEvery - 1)
	looks(1, "before its time")
	*clock = clock.Add(1)
	looks(2, "in its time")
	f.lookedBelow(testKey, looksEvery, false)
	*clock = clock.Add(looksShare*looksEvery - 1)
	looks(2, "soon after one that took long")
	*clock = clock.Add(1)
	looks(3, "later")
}

func TestWhatIsBelowTheFloorsIsClaimedNext(t *testing.T) {
	f, _, _ := slowFloors(t)
	f.claimed(testKey, []db.ClaimJobsRow{claimedRow("a", 0, 5_000_000)})
	scopeOf(t, f)
	if !f.lookedBelow(testKey, 2*slowLook, true) {
		t.Error("nobody is woken")
	}
	if s, _ := scopeOf(t, f); len(s.From) > 0 {
		t.Errorf("the claim begins at the floors: %s", text(t, s))
	}
	f.claimed(testKey, []db.ClaimJobsRow{claimedRow("a", 0, 3_000_000)})
	if s, _ := scopeOf(t, f); text(t, s.From) != `[["a",0,2000000]]` {
		t.Errorf("the floors are %s", text(t, s.From))
	}
}

func TestFloorsEndWithTheSlowness(t *testing.T) {
	f, _, _ := slowFloors(t)
	f.claimed(testKey, []db.ClaimJobsRow{claimedRow("a", 0, 5_000_000)})
	scopeOf(t, f)
	f.lookedBelow(testKey, slowLook/2, false) // vacuum has been there
	if _, all := scopeOf(t, f); !all {
		t.Error("looks are fast again and do not begin at the beginning")
	}
}

func TestAKindOfManyPrioritiesHasNoFloors(t *testing.T) {
	f, _, _ := slowFloors(t)
	var rows []db.ClaimJobsRow
	for p := range int64(mostPriorities + 1) {
		rows = append(rows, claimedRow("a", p, 5_000_000))
	}
	f.claimed(testKey, rows)
	if s, _ := scopeOf(t, f); len(s.From) > 0 || len(s.Between) != 2 {
		t.Errorf("the scope is %s", text(t, s))
	}
}
