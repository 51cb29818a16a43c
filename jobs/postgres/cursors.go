package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/jobs"
)

const (
	// A look for claimable jobs that takes longer than slowLook, several times in a row, goes through many dead index
	// entries: vacuum cannot remove those of jobs that were claimed since the oldest transaction of the server began.
	// Without them it takes well under a millisecond.
	slowLook  = 4 * time.Millisecond
	slowLooks = 3
	slowRow   = 50 * time.Microsecond

	// Autovacuum runs at most once a minute, so that a backlog that is worked off leaves as many dead entries as jobs are
	// claimed. manyClaims of them cost a claim about a tenth of a millisecond. A look through them that takes less than
	// quickLook shows that they are few.
	manyClaims = 20_000
	quickLook  = time.Millisecond

	// looksEvery is how often what lies below the cursors is looked at all the same, beside the claims: for jobs that were
	// given back, retried or promoted elsewhere. A look that takes long comes less often, so that looks take a twentieth of
	// the time at most.
	looksEvery = time.Second
	looksShare = 20

	// behind is how far before the present looks begin at the latest: so long may a transaction take that enqueues.
	behind = time.Second

	// mostPriorities is for how many priorities of a kind it is worthwhile.
	mostPriorities = 16
)

// cursors know, for queues with many dead index entries, where the live ones begin. For others they do nothing: every
// look begins at the beginning.
type cursors struct {
	now   func() time.Time
	below func(cursorKey, time.Duration) // looks below the cursors after a while, and tells lookedBelow

	mu     sync.Mutex
	queues map[cursorKey]*cursor
	kinds  map[string][]string // JSON lists, parsed
}

// cursorKey are a queue and the JSON list of kinds that a runner takes from it: several in one process have not come to the
// same place.
type cursorKey struct{ queue, kinds string }

// cursor is what is known of one queue and list.
type cursor struct {
	slow    int                        // slow looks from the beginning in a row
	claims  int                        // jobs that were claimed since dead entries were found to be few
	from    map[string]map[int64]place // kind, priority: where to begin
	looking bool                       // below the cursors, soon or just now
	missed  bool                       // a claim looked above the cursors meanwhile, and may have missed a job below them
	again   time.Time                  // when to look there next
	givenUp int                        // how often from was
}

// isOn reports whether looks begin at the cursors.
func (q *cursor) isOn() bool { return q.slow >= slowLooks || q.claims >= manyClaims }

func (q *cursor) giveUp() {
	clear(q.from)
	q.givenUp++
}

// place is a job's in the order of those of its kind and priority.
type place struct{ runAfter, id int64 }

func (p place) before(other place) bool {
	return p.runAfter < other.runAfter || p.runAfter == other.runAfter && p.id < other.id
}

// priorities are those of a kind that have a cursor, the highest first: none when there are too many.
func (q *cursor) priorities(kind string) []int64 {
	if len(q.from[kind]) > mostPriorities {
		return nil
	}
	list := slices.Sorted(maps.Keys(q.from[kind]))
	slices.Reverse(list)
	return list
}

// at is the cursor of a kind's priority in the form that the statements take.
func (q *cursor) at(kind string, priority int64) [4]any {
	p := q.from[kind][priority]
	return [4]any{kind, priority, p.runAfter, p.id}
}

func newCursors(now func() time.Time, below func(cursorKey, time.Duration)) *cursors {
	return &cursors{now: now, below: below, queues: map[cursorKey]*cursor{}, kinds: map[string][]string{}}
}

// scope is what a look for claimable jobs goes through, in the form of the parameter cursors of ClaimJobs: see there.
type scope struct {
	Between [][3]any `json:"between,omitempty"`
	From    [][4]any `json:"from,omitempty"`
	Before  [][4]any `json:"before,omitempty"`
}

func (s scope) text() (string, error) {
	data, err := json.Marshal(s)
	return string(data), err
}

// view is what a look for claimable jobs sees of a queue.
type view struct {
	key     cursorKey
	text    string // its scope; empty for all of the queue
	all     bool   // the cursors are off
	givenUp int    // how often the cursors had been given up
}

// view returns the part of a queue that a claim must look at.
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
		// The priorities that have a cursor, and between them those that have none.
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

// views returns the parts that claims must look at of those queues that have cursors.
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

// look schedules a look below the cursors. The notification that led to a claim above them may have been of a job below, and may
// be the only one for it: a look that goes on already may have passed that job, so another follows.
func (f *cursors) look(key cursorKey, q *cursor) {
	if q.looking {
		q.missed = true
		return
	}
	q.looking = true
	f.below(key, q.again.Sub(f.now()))
}

// scopeBelow gives what lies below the cursors, as they are when the look begins. It is empty when they are gone.
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

// looked notes how long a look from the beginning took for so many rows.
func (f *cursors) looked(key cursorKey, took time.Duration, rows int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	q := f.queues[key]
	q.slow++
	if took < slowLook+time.Duration(rows)*slowRow {
		q.slow = 0
	}
}

// failedBelow notes that a look below the cursors could not be made: lookedBelow has it made again.
func (f *cursors) failedBelow(key cursorKey) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.queues[key].missed = true
}

// lookedBelow notes what a look below the cursors found, and how long it took. It reports whether the cursors are dropped: then
// the next claims take the jobs below them and find new cursors.
func (f *cursors) lookedBelow(key cursorKey, took time.Duration, found bool) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	q := f.queues[key]
	q.looking = false
	q.again = f.now().Add(max(looksEvery, looksShare*took))
	if took < slowLook {
		q.slow = 0 // vacuum has been there
	}
	if took < quickLook {
		q.claims = 0
	}
	if found {
		q.giveUp()
	}
	if q.missed && !found && q.isOn() {
		f.look(key, q)
	}
	return found || !q.isOn()
}

// giveUp forgets the cursors of all queues, before claims that must find jobs which this process has made pending again.
func (f *cursors) giveUp() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, q := range f.queues {
		q.giveUp()
	}
}

// claimed notes how far a queue's jobs have been claimed, once that is committed. Of those that are due since less than a second
// there may be more, which were added by transactions that still go on.
func (f *cursors) claimed(v view, now int64, rows []db.ClaimJobsRow) {
	latest := place{runAfter: now - behind.Microseconds()}
	f.mu.Lock()
	defer f.mu.Unlock()
	q := f.queues[v.key]
	q.claims += len(rows)
	if q.givenUp != v.givenUp {
		return // for a job before those that were claimed, maybe
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

// from runs a statement that looks for pending jobs of a queue from its cursors on, and notes how long it took for so many.
func (f *cursors) from(ctx context.Context, queue, kinds string, look func(cursors string) (jobs int, err error)) (view, error) {
	v, err := f.view(queue, kinds)
	if err != nil {
		return v, err
	}
	began := f.now()
	n, err := look(v.text)
	if v.all && (err == nil || errors.Is(err, pgx.ErrNoRows)) {
		took := f.now().Sub(began)
		if p, ok := ctx.Value(inPipeline{}).(*pipelinePlace); ok && !p.began.IsZero() {
			took = time.Since(p.began) // it waited for the other statements before that
		}
		f.looked(v.key, took, n)
	}
	return v, err
}

// lookBelow looks beside the claims, after a while, whether there is something to claim below the cursors that they begin
// at, and wakes the workers of the queue when there is.
func (s *backend) lookBelow(key cursorKey, wait time.Duration) {
	s.hub.run(func() {
		if !s.hub.rest(wait) {
			return
		}
		var kinds int64
		began := time.Now()
		err := s.Read(s.hub.ctx, func(ctx context.Context, q db.Querier) (err error) {
			scope, err := s.cursors.scopeBelow(key)
			if err != nil {
				return err
			}
			began = time.Now()
			kinds, err = q.HasClaimableJobs(ctx, db.HasClaimableJobsParams{Kinds: "[]", Cursors: scope, Queue: key.queue})
			return err
		})
		took := time.Since(began)
		if err != nil {
			if s.hub.ctx.Err() == nil {
				s.conns.options.logger.Debug("cannot look for jobs below where claims begin; trying again", "queue", key.queue, "error", err)
			}
			took = slowLook // nothing is known
			s.cursors.failedBelow(key)
		}
		if s.cursors.lookedBelow(key, took, kinds > 0) {
			s.hub.wake(core.WorkReady, key.queue, jobs.WakeSafety)
		}
	})
}
