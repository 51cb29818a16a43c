package postgres

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/jobs"
)

var testKey = cursorKey{"q", `["a","b"]`}

// slowCursors returns the cursors of a queue whose looks from the beginning have been slow often enough.
func slowCursors(t *testing.T) (f *cursors, clock *time.Time, below *[]time.Duration) {
	t.Helper()
	now := time.UnixMicro(1_000_000_000_000)
	clock, below = &now, &[]time.Duration{}
	f = newCursors(func() time.Time { return *clock }, func(key cursorKey, wait time.Duration) {
		if key != testKey {
			t.Errorf("a look below the cursors of %v", key)
		}
		*below = append(*below, max(wait, 0))
	})
	for range slowLooks {
		if _, all := scopeOf(t, f); !all {
			t.Fatal("a look did not begin at the beginning while looks were fast")
		}
		f.looked(testKey, 2*slowLook, 1)
	}
	return f, clock, below
}

func viewOf(t *testing.T, f *cursors) view {
	t.Helper()
	v, err := f.view(testKey.queue, testKey.kinds)
	must(t, err)
	return v
}

func scopeOf(t *testing.T, f *cursors) (s scope, all bool) {
	t.Helper()
	v := viewOf(t, f)
	if v.text != "" {
		must(t, json.Unmarshal([]byte(v.text), &s))
	}
	return s, v.all
}

// testNow is the time of claims, long after the tests' jobs fell due.
const testNow = 100_000_000

func claimedRow(kind string, priority, runAfter int64) db.ClaimJobsRow {
	return db.ClaimJobsRow{Kind: kind, Priority: priority, RunAfter: runAfter, ID: runAfter / 1_000_000}
}

func text(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	must(t, err)
	return string(data)
}

func TestFastLooksBeginAtTheBeginning(t *testing.T) {
	f := newCursors(time.Now, nil)
	for range 2 * slowLooks {
		s, all := scopeOf(t, f)
		if !all || text(t, s) != "{}" {
			t.Errorf("all is %v, the scope %s, not {}", all, text(t, s))
		}
		f.looked(testKey, slowLook/2, 1)
		f.claimed(viewOf(t, f), testNow, []db.ClaimJobsRow{claimedRow("a", 0, 5_000_000)})
	}
}

func TestManyClaimedRowsAreNoSlowLook(t *testing.T) {
	f := newCursors(time.Now, nil)
	for range 2 * slowLooks {
		if _, all := scopeOf(t, f); !all {
			t.Fatal("a claim of many rows counts as slow")
		}
		f.looked(testKey, slowLook+10*time.Millisecond, 1000)
	}
}

func TestSlowLooksBeginWhereClaimsHaveComeTo(t *testing.T) {
	f, _, _ := slowCursors(t)
	f.claimed(viewOf(t, f), testNow, []db.ClaimJobsRow{claimedRow("a", 0, 5_000_000), claimedRow("a", 7, 3_000_000), claimedRow("a", 0, 4_000_000)})
	s, all := scopeOf(t, f)
	// The priorities 7 and 0 of kind a have a cursor, the last job; the ranges above, between and below are read from the
	// beginning. Nothing is known of kind b, which is read from the beginning.
	want := `{"between":[["a",7,2147483647],["a",0,7],["a",-2147483648,0],["b",-2147483648,2147483647]],"from":[["a",7,3000000,3],["a",0,5000000,5]]}`
	if all || text(t, s) != want {
		t.Errorf("all is %v, the scope %s, not %s", all, text(t, s), want)
	}
}

// Jobs that fall due just now may come from a transaction that is still open, and of jobs with one due time the first may have
// been claimed.
func TestWhereCursorsAre(t *testing.T) {
	for name, test := range map[string]struct {
		rows []db.ClaimJobsRow
		want string
	}{
		"due long ago":         {[]db.ClaimJobsRow{{Kind: "a", RunAfter: 5_000_000, ID: 3}, {Kind: "a", RunAfter: 5_000_000, ID: 9}, {Kind: "a", RunAfter: 5_000_000, ID: 4}}, `[["a",0,5000000,9]]`},
		"earlier, later added": {[]db.ClaimJobsRow{{Kind: "a", RunAfter: 5_000_000, ID: 3}, {Kind: "a", RunAfter: 4_000_000, ID: 9}}, `[["a",0,5000000,3]]`},
		"due a second ago":     {[]db.ClaimJobsRow{{Kind: "a", RunAfter: testNow - 1_000_000, ID: 3}}, `[["a",0,99000000,0]]`},
		"due just now":         {[]db.ClaimJobsRow{{Kind: "a", RunAfter: testNow, ID: 3}}, `[["a",0,99000000,0]]`},
		"due before zero":      {[]db.ClaimJobsRow{{Kind: "a", RunAfter: -5, ID: 3}}, `[["a",0,-5,3]]`},
	} {
		f, _, _ := slowCursors(t)
		f.claimed(viewOf(t, f), testNow, test.rows)
		if s, _ := scopeOf(t, f); text(t, s.From) != test.want {
			t.Errorf("%s: the cursors are %s, not %s", name, text(t, s.From), test.want)
		}
	}
}

// A backlog that is worked off leaves dead entries, too few of them for a slow look.
func TestManyClaimsBeginWhereTheyHaveComeTo(t *testing.T) {
	f := newCursors(time.Now, func(cursorKey, time.Duration) {})
	claim := func(n int) (all bool) {
		v := viewOf(t, f)
		f.looked(testKey, time.Millisecond, n)
		f.claimed(v, testNow, slices.Repeat([]db.ClaimJobsRow{claimedRow("a", 0, 5_000_000)}, n))
		return v.all
	}
	for range manyClaims / 1000 {
		if !claim(1000) {
			t.Fatal("a claim begins at the cursors before many jobs were claimed")
		}
	}
	if claim(1000) {
		t.Error("a claim begins at the beginning after many jobs were claimed")
	}
	if f.lookedBelow(testKey, quickLook, false) {
		t.Error("workers are woken while the cursors stay")
	}
	if claim(1000) {
		t.Error("a claim begins at the beginning after a look that was not quick")
	}
	if !f.lookedBelow(testKey, quickLook/2, false) {
		t.Error("workers are not woken when the cursors are gone")
	}
	if !claim(1000) {
		t.Error("a claim begins at the cursors after vacuum has been there")
	}
}

// Released jobs come before claimed ones, also those of a claim that was running.
func TestCursorsAreGivenUpForJobsThatComeBack(t *testing.T) {
	f, _, _ := slowCursors(t)
	f.claimed(viewOf(t, f), testNow, []db.ClaimJobsRow{claimedRow("a", 0, 5_000_000)})
	underWay := viewOf(t, f)
	f.lookedBelow(testKey, 2*slowLook, true)
	f.claimed(underWay, testNow, []db.ClaimJobsRow{claimedRow("a", 0, 6_000_000)})
	if s, _ := scopeOf(t, f); len(s.From) > 0 {
		t.Errorf("the next claim begins at %s", text(t, s.From))
	}
}

func TestLooksBelowTheCursors(t *testing.T) {
	f, clock, below := slowCursors(t)
	scopeOf(t, f)
	if len(*below) > 0 {
		t.Fatalf("a look below cursors that are not there: %s", *below)
	}
	f.claimed(viewOf(t, f), testNow, []db.ClaimJobsRow{claimedRow("a", 0, 5_000_000), claimedRow("a", 7, 3_000_000)})
	claim := func() {
		t.Helper()
		if _, all := scopeOf(t, f); all {
			t.Error("the claim begins at the beginning")
		}
	}
	looks := func(when string, waits ...time.Duration) {
		t.Helper()
		if !slices.Equal(*below, waits) {
			t.Fatalf("%s there were looks after %v, not %v", when, *below, waits)
		}
	}
	begin := func() {
		t.Helper()
		scope, err := f.scopeBelow(testKey)
		must(t, err)
		if want := `{"before":[["a",7,3000000,3],["a",0,5000000,5]]}`; scope != want {
			t.Errorf("the look is %s, not %s", scope, want)
		}
	}
	end := func(took time.Duration) {
		t.Helper()
		if f.lookedBelow(testKey, took, false) {
			t.Error("a slow look that finds nothing wakes workers")
		}
	}
	claim()
	looks("at first", 0)
	claim()
	looks("before one has begun", 0)
	begin()
	end(slowLook)
	looks("with no claim since it began", 0)
	*clock = clock.Add(looksEvery / 4)
	claim() // maybe for a job below, with no other notification
	looks("soon after one", 0, looksEvery*3/4)
	begin()
	claim()
	looks("while one goes on", 0, looksEvery*3/4)
	end(looksEvery)
	looks("after one in which there was a claim", 0, looksEvery*3/4, looksShare*looksEvery)
	begin()
	f.failedBelow(testKey)
	end(slowLook)
	looks("after one that failed", 0, looksEvery*3/4, looksShare*looksEvery, looksEvery)
}

func TestWhatIsBelowTheCursorsIsClaimedNext(t *testing.T) {
	f, _, _ := slowCursors(t)
	f.claimed(viewOf(t, f), testNow, []db.ClaimJobsRow{claimedRow("a", 0, 5_000_000)})
	scopeOf(t, f)
	if !f.lookedBelow(testKey, 2*slowLook, true) {
		t.Error("no worker is woken")
	}
	if s, _ := scopeOf(t, f); len(s.From) > 0 {
		t.Errorf("the claim begins at the cursors: %s", text(t, s))
	}
	f.claimed(viewOf(t, f), testNow, []db.ClaimJobsRow{claimedRow("a", 0, 3_000_000)})
	if s, _ := scopeOf(t, f); text(t, s.From) != `[["a",0,3000000,3]]` {
		t.Errorf("the cursors are %s", text(t, s.From))
	}
}

func TestCursorsEndWithTheSlowness(t *testing.T) {
	f, _, _ := slowCursors(t)
	f.claimed(viewOf(t, f), testNow, []db.ClaimJobsRow{claimedRow("a", 0, 5_000_000)})
	scopeOf(t, f)
	f.lookedBelow(testKey, slowLook/2, false) // vacuum has removed the entries
	if _, all := scopeOf(t, f); !all {
		t.Error("looks are fast again and do not begin at the beginning")
	}
}

func TestAKindOfManyPrioritiesHasNoCursors(t *testing.T) {
	f, _, _ := slowCursors(t)
	var rows []db.ClaimJobsRow
	for p := range int64(mostPriorities + 1) {
		rows = append(rows, claimedRow("a", p, 5_000_000))
	}
	f.claimed(viewOf(t, f), testNow, rows)
	if s, _ := scopeOf(t, f); len(s.From) > 0 || len(s.Between) > 0 {
		t.Errorf("the scope is %s", text(t, s))
	}
}

// stillCursors returns a store whose looks take no time, so that a busy machine changes nothing, and which does not look
// below its cursors.
func stillCursors(t *testing.T) (*backend, *jobs.Client) {
	t.Helper()
	store, client, _ := newSite(t, SharedServer.Postgres(t)).queue(t)
	clock := time.Now()
	store.cursors = newCursors(func() time.Time { return clock }, func(cursorKey, time.Duration) {})
	return store, client
}

// A claim that is rolled back leaves the cursors before the jobs; a look below them finds released jobs.
func TestCursorsOfWhatIsNotClaimed(t *testing.T) {
	store, client := stillCursors(t)
	worker := ghost(t, store, "w", []string{"another"}).id
	ids := enqueueMany(t, client, 30)
	key := cursorKey{jobs.DefaultQueue, `["k"]`}
	_, err := store.cursors.view(key.queue, key.kinds)
	must(t, err)
	for range slowLooks {
		store.cursors.looked(key, time.Minute, 1)
	}
	no := errors.New("no")
	claim := func(giveBack bool, fail error) (first int64) {
		committed := func() {}
		err := store.Write(t.Context(), func(ctx context.Context, q db.Querier) error {
			now := store.Now().Add(time.Hour) // the jobs have been due for an hour
			var rows []db.ClaimJobsRow
			var err error
			rows, committed, err = claimIn(ctx, store, q, db.ClaimJobsParams{
				WorkerID: worker, LeaseUntil: now.Add(time.Hour).UnixMicro(), Now: now.UnixMicro(), Kinds: key.kinds, Queue: key.queue, N: 10,
			})
			if err != nil || len(rows) == 0 {
				return fmt.Errorf("claimed %d jobs: %w", len(rows), err)
			}
			first = slices.MinFunc(rows, func(a, b db.ClaimJobsRow) int { return cmp.Compare(a.ID, b.ID) }).ID
			if giveBack {
				_, err = q.ReturnJob(ctx, db.ReturnJobParams{Status: "pending", Uncounted: 1, Now: now.UnixMicro(), ID: first, Attempt: 1, WorkerID: worker})
			}
			return cmp.Or(err, fail)
		})
		if !errors.Is(err, fail) {
			t.Fatalf("the claim gives %v", err)
		}
		if err == nil {
			committed()
		}
		return first
	}
	for _, step := range []struct {
		what     string
		giveBack bool
		fail     error
		first    int64
	}{
		{"a claim that is rolled back", false, no, ids[0]},
		{"the next", false, nil, ids[0]},
		{"one that gives the first back", true, nil, ids[10]},
		{"the one after it", false, nil, ids[20]},
		{"the one after a look below", false, nil, ids[10]},
	} {
		if step.what == "the one after a look below" {
			store.cursors.lookedBelow(key, slowLook, true)
		}
		if first := claim(step.giveBack, step.fail); first != step.first {
			t.Errorf("%s begins with job %d, not %d", step.what, first, step.first)
		}
	}
}

// A job that is inserted as claimed looks for others as a claim does, and is claimed.
func TestCursorsOfWhatIsAddedClaimed(t *testing.T) {
	store, client := stillCursors(t)
	worker := ghost(t, store, "w", []string{"another"}).id
	key := cursorKey{jobs.DefaultQueue, `["k"]`}
	_, err := store.cursors.view(key.queue, key.kinds)
	must(t, err)
	looked := func(times int) {
		for range times {
			store.cursors.looked(key, time.Minute, 1)
		}
	}
	now := store.Now().Add(time.Hour).UnixMicro() // otherwise the cursor would be a second before it
	due := now - time.Minute.Microseconds()
	add := func(result error) (id int64) {
		committed := func() {}
		err := store.Write(t.Context(), func(ctx context.Context, q db.Querier) error {
			var row db.EnqueueClaimedJobRow
			var err error
			row, committed, err = claims{store.cursors}.enqueueClaimed(ctx, q, db.EnqueueClaimedJobParams{
				Kind: "k", Queue: key.queue, Payload: "{}", RunAfter: due, MaxAttempts: 1, Now: now, WorkerID: worker,
				StartedAt: now, LeaseUntil: now, Kinds: key.kinds,
			})
			id = row.ID
			return cmp.Or(err, result)
		})
		if !errors.Is(err, result) {
			t.Fatalf("the job is added: %v", err)
		}
		if err == nil {
			committed()
		}
		return id
	}
	at := func(what string, all bool, want string) {
		t.Helper()
		v, err := store.cursors.view(key.queue, key.kinds)
		must(t, err)
		var s scope
		if v.text != "" {
			must(t, json.Unmarshal([]byte(v.text), &s))
		}
		if v.all != all || text(t, s.From) != want {
			t.Errorf("%s: all is %v, the cursors are %s, not %v and %s", what, v.all, text(t, s.From), all, want)
		}
	}
	looked(slowLooks - 1)
	add(errors.New("no"))
	looked(slowLooks - 1)
	waiting := enqueue(t, client, "k")
	add(sql.ErrNoRows)
	looked(slowLooks - 1)
	at("looks that are slow, but not in a row", true, "null")
	_, err = client.Cancel(t.Context(), waiting)
	must(t, err)
	looked(slowLooks)
	at("slow looks", false, "null")
	add(errors.New("no"))
	at("an insert that is rolled back", false, "null")
	id := add(nil)
	at("an insert", false, fmt.Sprintf(`[["k",0,%d,%d]]`, due, id))
}

// A look at many queues begins at the cursors of those that have some, as a look at one does.
func TestLooksAtManyQueuesBeginAtTheCursors(t *testing.T) {
	store, client := stillCursors(t)
	worker := ghost(t, store, "w", []string{"another"}).id
	enqueueMany(t, client, 3)
	enqueue(t, client, "k", jobs.Queue("other"))
	key := cursorKey{jobs.DefaultQueue, `["k"]`}
	now := store.Now().Add(time.Hour).UnixMicro() // the jobs have been due for an hour
	claim := func(n int64) (first int64) {
		committed := func() {}
		must(t, store.Write(t.Context(), func(ctx context.Context, q db.Querier) (err error) {
			var rows []db.ClaimJobsRow
			rows, committed, err = claimIn(ctx, store, q, db.ClaimJobsParams{
				WorkerID: worker, LeaseUntil: now, Now: now, Kinds: key.kinds, Queue: key.queue, N: n,
			})
			if err == nil {
				first = rows[0].ID
			}
			return err
		}))
		committed()
		return first
	}
	look := func() (found []string) {
		must(t, store.Read(t.Context(), func(ctx context.Context, q db.Querier) (err error) {
			found, err = store.Claims().ClaimableQueues(ctx, q, key.kinds, []string{"empty", "other", jobs.DefaultQueue})
			return err
		}))
		slices.Sort(found)
		return found
	}
	wantFound := func(when string, queues ...string) {
		t.Helper()
		if found := look(); !slices.Equal(found, queues) {
			t.Errorf("%s, a look finds jobs in the queues %q, not %q", when, found, queues)
		}
	}
	first := claim(1)
	wantFound("without cursors", jobs.DefaultQueue, "other")
	for range slowLooks {
		store.cursors.looked(key, time.Minute, 1)
	}
	wantFound("with a job above the cursor", jobs.DefaultQueue, "other")
	claim(2)
	must(t, store.Write(t.Context(), func(ctx context.Context, q db.Querier) error {
		_, err := q.ReturnJob(ctx, db.ReturnJobParams{Status: "pending", Uncounted: 1, Now: now, ID: first, Attempt: 1, WorkerID: worker})
		return err
	}))
	wantFound("with a job below the cursor", "other")
	store.cursors.lookedBelow(key, slowLook, true)
	wantFound("after a look below", jobs.DefaultQueue, "other")
}
