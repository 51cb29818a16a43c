package runner

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// lockingStore is a store in which other transactions have locked some jobs, and rows that the ends of other jobs need.
type lockingStore struct {
	endless
	locked []int64 // the locked jobs
	behind []int64 // jobs whose ends need another locked row
	try    time.Duration
	note   error   // the error of each note on a refusal
	order  []int64 // the recorded jobs, and 0 for each note
}

func (*lockingStore) LocksRows() bool       { return true }
func (*lockingStore) RefusesRow(error) bool { return false }

func (s *lockingStore) Write(ctx context.Context, fn func(context.Context, db.Querier) error) error {
	return fn(ctx, &lockingQuerier{store: s})
}

func (s *lockingStore) Exchange(ctx context.Context, p engine.Plan) (engine.Outcome, error) {
	time.Sleep(s.try)
	q, out := &lockingQuerier{store: s}, engine.Outcome{Now: time.Now()}
	err := engine.RunPlan(ctx, q, lockingStatements{}, p, &out)
	if err == nil {
		s.order = append(s.order, q.ended...)
	}
	return out, err
}

type lockingStatements struct{ plainStatements }

func (lockingStatements) CompleteJobs(_ context.Context, q db.Querier, _ int64, c engine.Completion) (int64, error) {
	l := q.(*lockingQuerier)
	for _, id := range c.IDs {
		if slices.Contains(l.store.behind, id) || slices.Contains(l.store.locked, id) {
			return 0, jobtype.ErrBusy
		}
	}
	l.ended = append(l.ended, c.IDs...)
	return int64(len(c.IDs)), nil
}

type lockingQuerier struct {
	endlessQuerier
	store *lockingStore
	ended []int64
}

func (q *lockingQuerier) ListLockedJobs(_ context.Context, ids string) (locked []int64, err error) {
	var asked []int64
	err = json.Unmarshal([]byte(ids), &asked)
	for _, id := range asked {
		if slices.Contains(q.store.locked, id) {
			locked = append(locked, id)
		}
	}
	return locked, err
}

func (q *lockingQuerier) NoteRefusal(context.Context, db.NoteRefusalParams) error {
	q.store.order = append(q.store.order, 0)
	time.Sleep(5 * time.Millisecond)
	return q.store.note
}

// splitterOf returns a committer with n ended attempts of jobs 1 to n.
func splitterOf(t *testing.T, store *lockingStore, n int) (*committer, []*Attempt) {
	l := endlessLoop(t, store, n, nil)
	l.env.writing = t.Context()
	for _, a := range l.ledger.ended {
		a.over = true
	}
	return l.committer, l.ledger.takeEnded()
}

func idsOf(list []*Attempt) (ids []int64) {
	for _, a := range list {
		ids = append(ids, a.job.ID)
	}
	return ids
}

// Ends without a lock are recorded before any note on a locked one is written, and a failing note holds up no other end.
func TestFreeEndsAreRecordedFirst(t *testing.T) {
	for _, note := range []error{nil, errors.New("no notes")} {
		synctest.Test(t, func(t *testing.T) {
			store := &lockingStore{locked: []int64{1, 2, 3, 4, 5, 6}, behind: []int64{8}, note: note}
			c, ended := splitterOf(t, store, 10)
			again, err := c.recordSplit(ended, false)
			if len(again) > 0 || !errors.Is(err, note) || len(c.ledger.takeRefused()) != 7 {
				t.Errorf("to be tried again: %v, %v", idsOf(again), err)
			}
			want := []int64{7, 9, 10, 0, 0, 0, 0, 0, 0, 0}
			recorded, notes := 0, 0
			for _, id := range store.order {
				if id != 0 {
					recorded++
				} else if notes++; notes == 2 && recorded < 3 { // the first note is on job 8, found between the free ones
					t.Errorf("the order is %v, want about %v", store.order, want)
				}
			}
			if recorded != 3 || notes != 7 {
				t.Errorf("recorded: %d, notes: %d", recorded, notes)
			}
		})
	}
}

// A stop first returns the ends that it had no time to try, and does not count them as refused.
func TestUntriedEndsComeFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &lockingStore{locked: []int64{1}, try: 300 * time.Millisecond}
		for id := range int64(20) {
			store.behind = append(store.behind, id+2)
		}
		c, ended := splitterOf(t, store, 20)
		again, err := c.recordSplit(ended, true)
		if !errors.Is(err, jobtype.ErrBusy) || len(again) != 20 {
			t.Fatalf("to be tried again: %v, %v", idsOf(again), err)
		}
		tried := false
		for _, a := range again {
			tried = tried || a.refused.times > 0
			if tried != (a.refused.times > 0) {
				t.Errorf("job %d comes after tried ones: %v", a.job.ID, idsOf(again))
			}
		}
		if !tried || again[0].refused.times > 0 || again[0].refused.locked {
			t.Errorf("tried: %t, the first one %+v", tried, again[0].refused)
		}
	})
}
