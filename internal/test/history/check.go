package history

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Row is a job in the database at the end.
type Row struct {
	ID      int64
	Key     string // the key that its enqueuer gave it
	Attempt int    // the number of its claims
	Done    bool
	By      int    // the attempt whose result it has; 0 when it has none
	Tick    string // of the schedule that enqueued it; empty when none did
	Erased  bool   // it carries nothing any more; then its key is not known
}

// Report is the result of a check. Broken promises are listed one by one.
type Report struct {
	Acked     int // enqueues that were acknowledged and added a job
	Refused   int
	Recovered int // enqueues without a known outcome that did happen
	Missed    int // enqueues without a known outcome that did not happen
	Replaced  int // enqueues that were acknowledged and replaced the payload of a job
	Updated   int // changes that were acknowledged
	Started   int // jobs
	Ticks     int // that have a job
	Forgotten int // jobs of forgotten users
	Starts    int // attempts

	Lost       []string // acknowledged, and gone, not run, not done, or done without a handler's return
	Unexpected []string // there or run, and not enqueued, refused, or enqueued once and there twice
	Doubled    []string // attempts that were started twice, jobs that were started after their end, and ticks with two jobs
	Stale      []string // completions that were accepted from an attempt that was over
	Unique     []string // jobs that were live at the same time with one unique key, except the running one and its successor
	Changed    []string // runs whose handler got other bytes than were enqueued
	Left       []string // of forgotten users: jobs that carry something, and runs that began after the receipt
	Older      []string // runs that saw another payload or priority than the newest acknowledged one, or at another time than promised
}

// Faults returns the number of broken promises.
func (r Report) Faults() int {
	return len(r.Lost) + len(r.Unexpected) + len(r.Doubled) + len(r.Stale) + len(r.Unique) + len(r.Changed) + len(r.Left) + len(r.Older)
}

// Check compares events, of all processes and in any order, with each other and with the jobs that are there after all
// work was done. Without rows it uses the events alone.
func Check(events []Event, rows []Row) Report {
	c := collect(events)
	var r Report
	c.checkPayloads(&r)
	c.checkStarts(&r)
	c.checkEnds(&r, rows)
	rows = c.checkForgotten(&r, rows)
	c.checkEnqueues(&r, c.checkTicks(&r, rows))
	c.checkUnique(&r)
	c.checkWrites(&r, rows)
	for _, list := range [][]string{r.Lost, r.Unexpected, r.Doubled, r.Stale, r.Unique, r.Changed, r.Left, r.Older} {
		slices.Sort(list)
	}
	return r
}

// enqueue is the enqueuers' record of one key.
type enqueue struct {
	unique  string
	outcome What // Unknown until the answer
	existed bool
	job     int64
	asked   int64 // when it was about to be enqueued
	at      int64 // the time of the answer

	mode          Mode
	replaced      bool
	priority      int
	quiet, atMost int64

	payload, user string
}

// attempt names an attempt of a job.
type attempt struct {
	job    int64
	number int
}

// work is the workers' record of one job.
type work struct {
	key     string
	highest int           // attempt that was started
	first   int64         // start
	last    map[int]int64 // when an attempt was certainly running: at its start, and at its handler's return
	started map[int]int64
	ok      map[int][]int64
	stale   map[int]bool

	apart    bool // a schedule enqueued it, or its user was forgotten
	returned bool // a handler's return was recorded, or an event that implies it
}

// collected holds events by their subject.
type collected struct {
	enqueues  map[string]*enqueue
	jobs      map[int64]*work
	starts    map[attempt][]Event
	forgotten map[string]int64 // when users were, the first time
}

func collect(events []Event) *collected {
	c := &collected{enqueues: map[string]*enqueue{}, jobs: map[int64]*work{}, starts: map[attempt][]Event{}, forgotten: map[string]int64{}}
	for _, e := range events {
		switch e.What {
		case Invoke:
			q := c.enqueue(e)
			q.asked, q.mode, q.priority, q.quiet, q.atMost = e.At, e.Mode, e.Priority, e.Quiet, e.AtMost
			q.payload, q.user = e.Payload, e.User
		case Acked, Refused, Unknown:
			q := c.enqueue(e)
			q.outcome, q.job, q.existed, q.replaced, q.at = e.What, e.Job, e.Existed, e.Replaced, e.At
		case Start, Return, Ok, Stale:
			c.work(e)
		case Forgotten:
			if at, there := c.forgotten[e.User]; !there || e.At < at {
				c.forgotten[e.User] = e.At
			}
		}
	}
	return c
}

func (c *collected) enqueue(e Event) *enqueue {
	q := c.enqueues[e.Key]
	if q == nil {
		q = &enqueue{outcome: Unknown}
		c.enqueues[e.Key] = q
	}
	if e.Unique != "" {
		q.unique = e.Unique
	}
	return q
}

func (c *collected) work(e Event) {
	w := c.jobs[e.Job]
	if w == nil {
		w = &work{last: map[int]int64{}, started: map[int]int64{}, ok: map[int][]int64{}, stale: map[int]bool{}}
		c.jobs[e.Job] = w
	}
	if e.Key != "" {
		w.key = e.Key
	}
	switch e.What {
	case Start:
		c.starts[attempt{e.Job, e.Attempt}] = append(c.starts[attempt{e.Job, e.Attempt}], e)
		w.highest = max(w.highest, e.Attempt)
		if w.first == 0 || e.At < w.first {
			w.first = e.At
		}
		if at, there := w.started[e.Attempt]; !there || e.At < at {
			w.started[e.Attempt] = e.At
		}
		w.last[e.Attempt] = max(w.last[e.Attempt], e.At)
	case Return:
		w.last[e.Attempt] = max(w.last[e.Attempt], e.At)
		w.returned = true
	case Ok:
		w.ok[e.Attempt] = append(w.ok[e.Attempt], e.At)
		w.returned = true
	case Stale:
		w.stale[e.Attempt] = true
	}
}

// checkTicks checks the jobs of schedules, forgets whose jobs they are, and returns the other jobs. (A job that was deleted and has run
// is in no row: it is one of the others.)
func (c *collected) checkTicks(r *Report, rows []Row) (others []Row) {
	ticks := map[string][]int64{}
	for _, row := range rows {
		if row.Tick == "" {
			others = append(others, row)
			continue
		}
		ticks[row.Tick] = append(ticks[row.Tick], row.ID)
		w := c.jobs[row.ID]
		switch {
		case !row.Done:
			r.Lost = append(r.Lost, fmt.Sprintf("job %d of %s is not done", row.ID, row.Tick))
		case w == nil || !w.returned:
			r.Lost = append(r.Lost, fmt.Sprintf("job %d of %s is done, and no handler of it has returned", row.ID, row.Tick))
		}
		if w != nil {
			w.apart = true
		}
	}
	for tick, ids := range ticks {
		if len(ids) > 1 {
			r.Doubled = append(r.Doubled, fmt.Sprintf("%s has the jobs %v", tick, ids))
		}
	}
	r.Ticks = len(ticks)
	if rows != nil && others == nil {
		others = []Row{}
	}
	return others
}

// checkEnqueues compares enqueued jobs with those in the database and those that ran.
func (c *collected) checkEnqueues(r *Report, rows []Row) {
	ids := map[string]map[int64]bool{} // of the jobs with a key, by the rows and by the runs
	note := func(key string, id int64) {
		if ids[key] == nil {
			ids[key] = map[int64]bool{}
		}
		ids[key][id] = true
	}
	there := map[int64]Row{}
	for _, row := range rows {
		there[row.ID] = row
		if !c.written(row.Key) {
			note(row.Key, row.ID)
		}
	}
	for id, w := range c.jobs {
		if !w.apart && !c.written(w.key) {
			note(w.key, id)
		}
	}
	for key, jobs := range ids {
		q := c.enqueues[key]
		switch {
		case q == nil:
			r.Unexpected = append(r.Unexpected, fmt.Sprintf("%q was never enqueued, and there is job %v", key, sorted(jobs)))
		case q.outcome == Refused:
			r.Unexpected = append(r.Unexpected, fmt.Sprintf("%q was refused, and there is job %v", key, sorted(jobs)))
		case q.existed:
			r.Unexpected = append(r.Unexpected, fmt.Sprintf("%q was not added, and there is job %v", key, sorted(jobs)))
		case q.outcome == Acked && !jobs[q.job]:
			r.Unexpected = append(r.Unexpected, fmt.Sprintf("%q was acknowledged as job %d, and there is %v", key, q.job, sorted(jobs)))
		}
		if len(jobs) > 1 {
			r.Unexpected = append(r.Unexpected, fmt.Sprintf("%q was enqueued once, and there are the jobs %v", key, sorted(jobs)))
		}
	}
	for key, q := range c.enqueues {
		switch {
		case q.mode != "": // checkWrites
		case q.outcome == Refused:
			r.Refused++
		case q.outcome == Unknown && len(ids[key]) > 0:
			r.Recovered++
		case q.outcome == Unknown:
			r.Missed++
		case q.existed:
			c.checkExisted(r, key, q, rows != nil, there)
		default:
			r.Acked++
			row, ok := there[q.job]
			w := c.jobs[q.job]
			switch {
			case rows != nil && !ok:
				r.Lost = append(r.Lost, fmt.Sprintf("%q, job %d, was acknowledged and is gone", key, q.job))
			case rows != nil && row.Key != key:
				r.Lost = append(r.Lost, fmt.Sprintf("%q was acknowledged as job %d, which is %q", key, q.job, row.Key))
			case rows != nil && !row.Done:
				r.Lost = append(r.Lost, fmt.Sprintf("%q, job %d, was acknowledged and is not done", key, q.job))
			case w == nil || w.highest == 0:
				r.Lost = append(r.Lost, fmt.Sprintf("%q, job %d, was acknowledged and was never run", key, q.job))
			case w.key != key:
				r.Lost = append(r.Lost, fmt.Sprintf("%q was acknowledged as job %d, which was run as %q", key, q.job, w.key))
			case rows != nil && !w.returned:
				r.Lost = append(r.Lost, fmt.Sprintf("%q, job %d, is done, and no handler of it has returned", key, q.job))
			}
		}
	}
}

// checkExisted checks an enqueue that added nothing because a job with its unique key was there. If that is wrong, the
// requested job is never done.
func (c *collected) checkExisted(r *Report, key string, q *enqueue, known bool, there map[int64]Row) {
	if _, ok := there[q.job]; known && !ok {
		r.Lost = append(r.Lost, fmt.Sprintf("%q was not added because of job %d, which is not there", key, q.job))
		return
	}
	w := c.jobs[q.job]
	if w == nil {
		return // not run by a worker that recorded it: another check covers that
	}
	if owner := c.enqueues[w.key]; owner != nil && owner.unique != q.unique {
		r.Unique = append(r.Unique, fmt.Sprintf("%q was not added because of job %d, whose unique key is %q and not %q", key, q.job, owner.unique, q.unique))
	}
	for number, times := range w.ok {
		if slices.Min(times) < q.asked {
			r.Lost = append(r.Lost, fmt.Sprintf("%q was not added because of job %d, which attempt %d had completed before", key, q.job, number))
		}
	}
}

func sorted(ids map[int64]bool) []int64 { return slices.Sorted(maps.Keys(ids)) }

// checkStarts finds attempts that were started twice.
func (c *collected) checkStarts(r *Report) {
	r.Starts = len(c.starts)
	for a, list := range c.starts {
		if len(list) > 1 {
			var by []string
			for _, e := range list {
				by = append(by, e.Process)
			}
			r.Doubled = append(r.Doubled, fmt.Sprintf("attempt %d of job %d was started %d times, by %v", a.number, a.job, len(list), by))
		}
	}
	for _, w := range c.jobs {
		if w.highest > 0 {
			r.Started++
		}
	}
}

// checkEnds finds completions by an attempt after which another one was started: only the holder of the last attempt
// may complete a job.
func (c *collected) checkEnds(r *Report, rows []Row) {
	for id, w := range c.jobs {
		ends := 0
		for number, times := range w.ok {
			ends += len(times)
			for later, at := range w.started {
				switch {
				case later <= number:
				case at < slices.Min(times):
					r.Stale = append(r.Stale, fmt.Sprintf("attempt %d of job %d was completed after attempt %d had been started", number, id, later))
				default:
					r.Doubled = append(r.Doubled, fmt.Sprintf("attempt %d of job %d was started after attempt %d had completed it", later, id, number))
				}
			}
		}
		if ends > 1 {
			r.Stale = append(r.Stale, fmt.Sprintf("job %d was completed %d times", id, ends))
		}
	}
	for _, row := range rows {
		w := c.jobs[row.ID]
		if w == nil {
			continue
		}
		if w.highest > row.Attempt {
			r.Doubled = append(r.Doubled, fmt.Sprintf("attempt %d of job %d was started, and the database knows of %d", w.highest, row.ID, row.Attempt))
		}
		if !row.Done || row.By == 0 {
			continue
		}
		if row.By != row.Attempt {
			r.Stale = append(r.Stale, fmt.Sprintf("job %d has the result of attempt %d, and was claimed %d times", row.ID, row.By, row.Attempt))
		} else if w.stale[row.By] {
			r.Stale = append(r.Stale, fmt.Sprintf("the completion of attempt %d of job %d was refused, and the job has its result", row.By, row.ID))
		}
	}
}

// live is a time in which a job certainly existed and had not ended: it may have been longer.
type live struct {
	key, unique string
	from, to    int64
}

// checkUnique finds jobs of one unique key whose lives overlap.
func (c *collected) checkUnique(r *Report) {
	byUnique := map[string][]live{}
	for _, w := range c.jobs {
		q := c.enqueues[w.key]
		if q == nil || q.unique == "" || q.mode != "" || w.highest == 0 {
			continue
		}
		// It was added before it ran and before its enqueuer heard of it, if it ever did, and ended after its last
		// attempt's handler.
		l := live{w.key, q.unique, w.first, w.last[w.highest]}
		if q.outcome == Acked && !q.existed {
			l.from = min(l.from, q.at)
		}
		if l.from < l.to {
			byUnique[q.unique] = append(byUnique[q.unique], l)
		}
	}
	for _, list := range byUnique {
		slices.SortFunc(list, func(a, b live) int { return cmp.Compare(a.from, b.from) })
		for i, l := range list {
			for _, next := range list[i+1:] {
				if next.from >= l.to {
					break
				}
				r.Unique = append(r.Unique, fmt.Sprintf("%q and %q were live at once with the unique key %q", l.key, next.key, l.unique))
			}
		}
	}
}

// Pickups returns the times from the end of a process until another attempt started of each job whose handler it was
// running. Jobs without another attempt are left out: Check finds them lost.
func Pickups(events []Event, ends map[string]time.Time) []time.Duration {
	type holder struct {
		process string
		attempt attempt
	}
	running := map[holder]bool{}
	starts := map[int64]map[int]int64{}
	for _, e := range events {
		h := holder{e.Process, attempt{e.Job, e.Attempt}}
		switch e.What {
		case Start:
			if _, returned := running[h]; !returned {
				running[h] = true
			}
			if starts[e.Job] == nil {
				starts[e.Job] = map[int]int64{}
			}
			starts[e.Job][e.Attempt] = e.At
		case Return, Ok, Stale:
			running[h] = false
		}
	}
	var list []time.Duration
	for h, is := range running {
		end, ended := ends[h.process]
		if !is || !ended {
			continue
		}
		next := int64(0)
		for number, at := range starts[h.attempt.job] {
			if number > h.attempt.number && (next == 0 || at < next) {
				next = at
			}
		}
		if next != 0 {
			list = append(list, max(0, time.UnixMicro(next).Sub(end)))
		}
	}
	slices.Sort(list)
	return list
}
