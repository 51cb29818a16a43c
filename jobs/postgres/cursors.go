package postgres

import (
	"encoding/json"
	"errors"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sqluice/sqluice/db"
)

const (
	// If looks for claimable jobs take longer than slowLook several times in a row, they read many dead index entries:
	// vacuum cannot remove those of jobs that were claimed since the server's oldest transaction began. Without such
	// entries a look takes well under a millisecond.
	slowLook  = 4 * time.Millisecond
	slowLooks = 3
	slowRow   = 50 * time.Microsecond

	// Autovacuum runs at most once a minute, so a backlog that is worked off leaves one dead entry for each claimed job.
	// manyClaims of them cost a claim about a tenth of a millisecond. A look past them that takes less than quickLook
	// shows that they are few.
	manyClaims = 20_000
	quickLook  = time.Millisecond

	// looksEvery is the interval of looks below the cursors, beside the claims: for jobs that other processes released,
	// retried or promoted. After a slow look the interval is longer, so that looks take at most a twentieth of the time.
	looksEvery = time.Second
	looksShare = 20

	// cursorsBehind is the time that cursors stay behind now, so that inserts of transactions up to this long are not skipped.
	cursorsBehind = time.Second

	// mostPriorities is the number of priorities of a kind up to which cursors are worthwhile.
	mostPriorities = 16
)

// cursors stores, for queues with many dead index entries, where the live entries begin. It does nothing for other
// queues: every look there begins at the start.
type cursors struct {
	now   func() time.Time
	below func(cursorKey, time.Duration) // schedules a look below the cursors, which ends in lookedBelow

	mu     sync.Mutex
	queues map[cursorKey]*cursor
	kinds  map[string][]string // the parsed JSON lists, by their text
}

// cursorKey is a queue and the JSON list of kinds that a runner takes from it: several runners in one process may be at
// different places.
type cursorKey struct{ queue, kinds string }

// cursor is the state of one queue and list of kinds.
type cursor struct {
	slow        int                        // slow looks from the beginning in a row
	jobsClaimed int                        // jobs claimed since dead entries were found to be few
	from        map[string]map[int64]place // kind, priority: where to begin
	looking     bool                       // a look below the cursors is scheduled or running
	missed      bool                       // a claim during that look may have missed a job below the cursors
	again       time.Time                  // when to look below the cursors next
	givenUp     int                        // number of times that from was dropped
}

// isOn reports whether looks begin at the cursors.
func (q *cursor) isOn() bool { return q.slow >= slowLooks || q.jobsClaimed >= manyClaims }

func (q *cursor) giveUp() {
	clear(q.from)
	q.givenUp++
}

// place is a job's position among those of its kind and priority.
type place struct{ runAfter, id int64 }

func (p place) before(other place) bool {
	return p.runAfter < other.runAfter || p.runAfter == other.runAfter && p.id < other.id
}

// priorities returns a kind's priorities that have a cursor, highest first, or none when there are too many.
func (q *cursor) priorities(kind string) []int64 {
	if len(q.from[kind]) > mostPriorities {
		return nil
	}
	list := slices.Sorted(maps.Keys(q.from[kind]))
	slices.Reverse(list)
	return list
}

// at returns the cursor of a kind's priority in the form that the statements take.
func (q *cursor) at(kind string, priority int64) [4]any {
	p := q.from[kind][priority]
	return [4]any{kind, priority, p.runAfter, p.id}
}

func newCursors(now func() time.Time, below func(cursorKey, time.Duration)) *cursors {
	return &cursors{now: now, below: below, queues: map[cursorKey]*cursor{}, kinds: map[string][]string{}}
}

// scope is the range of a look for claimable jobs, in the form of the parameter cursors of ClaimJobs: see there.
type scope struct {
	Between [][3]any `json:"between,omitempty"`
	From    [][4]any `json:"from,omitempty"`
	Before  [][4]any `json:"before,omitempty"`
}

func (s scope) text() (string, error) {
	data, err := json.Marshal(s)
	return string(data), err
}

// view is the part of a queue that a look for claimable jobs reads.
type view struct {
	key     cursorKey
	text    string // the scope as JSON; empty for the whole queue
	all     bool   // the cursors are off
	givenUp int    // the cursor's givenUp when the view was made
}

// view returns the part of a queue that a claim must read.
func (f *cursors) view(queue, kinds string) (v view, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	names, known := f.kinds[kinds]
	if !known {
		if err := json.Unmarshal([]byte(kinds), &names); err != nil {
			return v, err
		}
		f.kinds[kinds] = names
	}
	v.key = cursorKey{queue, kinds}
	q := f.queues[v.key]
	if q == nil {
		q = &cursor{from: map[string]map[int64]place{}}
		f.queues[v.key] = q
	}
	v.all, v.givenUp = !q.isOn(), q.givenUp
	s := scope{}
	for _, name := range names {
		if v.all {
			break
		}
		// The priorities with a cursor, and between them the ranges without one.
		above := int64(math.MaxInt32)
		for _, p := range q.priorities(name) {
			s.Between = append(s.Between, [3]any{name, p, above})
			s.From = append(s.From, q.at(name, p))
			above = p
		}
		s.Between = append(s.Between, [3]any{name, math.MinInt32, above})
	}
	if len(s.From) == 0 {
		return v, nil
	}
	f.look(v.key, q)
	v.text, err = s.text()
	return v, err
}

// views returns the parts that claims must read of those given queues that have cursors.
func (f *cursors) views(queues []string, kinds string) (map[string]string, error) {
	on := f.on(kinds)
	if len(on) == 0 {
		return nil, nil
	}
	texts := map[string]string{}
	for _, queue := range queues {
		if !on[queue] {
			continue
		}
		v, err := f.view(queue, kinds)
		if err != nil {
			return nil, err
		}
		texts[queue] = v.text
	}
	return texts, nil
}

// on returns the queues whose claims begin at cursors.
func (f *cursors) on(kinds string) map[string]bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	var on map[string]bool
	for key, q := range f.queues {
		if key.kinds != kinds || !q.isOn() {
			continue
		}
		if on == nil {
			on = map[string]bool{}
		}
		on[key.queue] = true
	}
	return on
}

// look schedules a look below the cursors. The notification that led to a claim above them may have been for a job below, and be
// the only one for it: a running look may have passed that job, so another look follows.
func (f *cursors) look(key cursorKey, q *cursor) {
	if q.looking {
		q.missed = true
		return
	}
	q.looking = true
	f.below(key, q.again.Sub(f.now()))
}

// scopeBelow returns the range below the cursors as they are when the look begins. It is empty if the cursors are gone.
func (f *cursors) scopeBelow(key cursorKey) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	q := f.queues[key]
	q.missed = false
	s := scope{}
	for _, name := range f.kinds[key.kinds] {
		for _, p := range q.priorities(name) {
			s.Before = append(s.Before, q.at(name, p))
		}
	}
	return s.text()
}

// looked records the duration of a look from the beginning and the number of rows that it returned.
func (f *cursors) looked(key cursorKey, took time.Duration, rows int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	q := f.queues[key]
	q.slow++
	if took < slowLook+time.Duration(rows)*slowRow {
		q.slow = 0
	}
}

// failedBelow records a failed look below the cursors: lookedBelow schedules it again.
func (f *cursors) failedBelow(key cursorKey) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.queues[key].missed = true
}

// lookedBelow records what a look below the cursors found, and its duration. It reports whether the cursors are dropped: then
// the next claims take the jobs below them and set new cursors.
func (f *cursors) lookedBelow(key cursorKey, took time.Duration, found bool) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	q := f.queues[key]
	q.looking = false
	q.again = f.now().Add(max(looksEvery, looksShare*took))
	if took < slowLook {
		q.slow = 0 // vacuum has removed the entries
	}
	if took < quickLook {
		q.jobsClaimed = 0
	}
	if found {
		q.giveUp()
	}
	if q.missed && !found && q.isOn() {
		f.look(key, q)
	}
	return found || !q.isOn()
}

// giveUp drops the cursors of all queues, before claims that must find jobs which this process has made pending again.
func (f *cursors) giveUp() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, q := range f.queues {
		q.giveUp()
	}
}

// claimed records, after the commit, the position up to which a queue's jobs were claimed. Among jobs that fell due less than a second ago
// there may be more, from transactions that are still open.
func (f *cursors) claimed(v view, now int64, rows []db.ClaimJobsRow) {
	latest := place{runAfter: now - cursorsBehind.Microseconds()}
	f.mu.Lock()
	defer f.mu.Unlock()
	q := f.queues[v.key]
	q.jobsClaimed += len(rows)
	if q.givenUp != v.givenUp {
		return // there may be a job before the claimed ones
	}
	for _, row := range rows {
		if q.from[row.Kind] == nil {
			q.from[row.Kind] = map[int64]place{}
		}
		from := place{row.RunAfter, row.ID}
		if latest.before(from) {
			from = latest
		}
		if was, known := q.from[row.Kind][row.Priority]; !known || was.before(from) {
			q.from[row.Kind][row.Priority] = from
		}
	}
}

// from runs a statement that looks for pending jobs from a queue's cursors on, and records its duration and row count.
func (f *cursors) from(queue, kinds string, look func(cursors string) (jobs int, err error)) (view, error) {
	v, err := f.view(queue, kinds)
	if err != nil {
		return v, err
	}
	began := f.now()
	n, err := look(v.text)
	if v.all && (err == nil || errors.Is(err, pgx.ErrNoRows)) {
		f.looked(v.key, f.now().Sub(began), n)
	}
	return v, err
}
