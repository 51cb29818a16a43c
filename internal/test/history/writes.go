package history

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
)

// The payload of a job may be written several times: by the enqueue that adds it, by further ones with its unique key, and by updates.
// Each write is an enqueue of a mode, and its key is in the payload. So a run says which write it saw.

// written reports whether a key is that of such a write.
func (c *collected) written(key string) bool {
	q := c.enqueues[key]
	return q != nil && q.mode != ""
}

// write is a write with its key.
type write struct {
	*enqueue
	key string
}

// toldAt returns a time at which the write certainly had happened.
func (w write) toldAt() int64 {
	if w.outcome != Acked {
		return math.MaxInt64
	}
	return w.at
}

// olderThan reports whether the write certainly happened before another one.
func (w write) olderThan(other write) bool { return w.toldAt() < other.asked }

// subject is a job with its acknowledged writes and its runs.
type subject struct {
	id     int64
	writes []write
	runs   []Event // the first start of each attempt, by attempt
}

// first returns the start of the first attempt; false when it was not recorded, because its process died before.
func (s *subject) first() (Event, bool) {
	if len(s.runs) == 0 || s.runs[0].Attempt != 1 {
		return Event{}, false
	}
	return s.runs[0], true
}

// added returns the write that added the job, if it was acknowledged.
func (s *subject) added() (write, bool) {
	i := slices.IndexFunc(s.writes, func(w write) bool { return !w.existed })
	if i < 0 {
		return write{}, false
	}
	return s.writes[i], true
}

// checkWrites checks the jobs whose payloads may be replaced.
func (c *collected) checkWrites(r *Report, rows []Row) {
	subjects := map[int64]*subject{}
	of := func(id int64) *subject {
		if subjects[id] == nil {
			subjects[id] = &subject{id: id}
		}
		return subjects[id]
	}
	seen := map[string]bool{}
	for _, list := range c.starts {
		if e := list[0]; c.written(e.Key) {
			of(e.Job).runs = append(of(e.Job).runs, e)
			seen[e.Key] = true
		}
	}
	for _, key := range slices.Sorted(maps.Keys(c.enqueues)) {
		q := c.enqueues[key]
		if q.mode == "" {
			continue
		}
		w := write{q, key}
		w.count(r, seen[key])
		if q.outcome == Acked && (!q.existed || q.replaced) {
			of(q.job).writes = append(of(q.job).writes, w)
		}
	}
	there := map[int64]Row{}
	for _, row := range rows {
		there[row.ID] = row
		if c.written(row.Key) {
			of(row.ID)
		}
	}
	byUnique := map[string][]*subject{}
	for _, id := range slices.Sorted(maps.Keys(subjects)) {
		s := subjects[id]
		slices.SortFunc(s.runs, func(a, b Event) int { return cmp.Compare(a.Attempt, b.Attempt) })
		c.checkRuns(r, s)
		c.checkLast(r, s, rows != nil, there)
		if unique := c.uniqueOf(s); unique != "" {
			byUnique[unique] = append(byUnique[unique], s)
		}
	}
	c.checkFound(r, there, rows != nil)
	for _, unique := range slices.Sorted(maps.Keys(byUnique)) {
		c.checkSuccession(r, unique, byUnique[unique])
	}
}

// count counts a write.
func (w write) count(r *Report, seen bool) {
	switch {
	case w.outcome == Refused:
		r.Refused++
	case w.outcome == Unknown && seen:
		r.Recovered++
	case w.outcome == Unknown:
		r.Missed++
	case w.mode == Update:
		r.Updated++
	case w.replaced:
		r.Replaced++
	case !w.existed:
		r.Acked++
	}
}

// uniqueOf returns the unique key of a job.
func (c *collected) uniqueOf(s *subject) string {
	for _, w := range s.writes {
		return w.unique
	}
	for _, e := range s.runs {
		return c.enqueues[e.Key].unique
	}
	return ""
}

// checkRuns checks that each run saw one write of the job, and none that another had replaced before the claim.
func (c *collected) checkRuns(r *Report, s *subject) {
	unique := c.uniqueOf(s)
	for _, e := range s.runs {
		q := c.enqueues[e.Key]
		saw := write{q, e.Key}
		run := fmt.Sprintf("attempt %d of job %d ran with %q", e.Attempt, s.id, e.Key)
		switch {
		case q.outcome == Refused:
			r.Unexpected = append(r.Unexpected, run+", which was refused")
		case q.outcome == Acked && q.existed && !q.replaced:
			r.Unexpected = append(r.Unexpected, run+", which was not added")
		case q.outcome == Acked && q.job != s.id:
			r.Unexpected = append(r.Unexpected, fmt.Sprintf("%s, which was acknowledged as job %d", run, q.job))
		case q.unique != unique:
			r.Unique = append(r.Unique, fmt.Sprintf("%s of the unique key %q, and has the unique key %q", run, q.unique, unique))
		}
		if e.Priority != q.priority {
			r.Older = append(r.Older, fmt.Sprintf("%s and priority %d, not %d", run, e.Priority, q.priority))
		}
		for _, w := range s.writes {
			if w.at <= e.Claimed && saw.olderThan(w) {
				r.Older = append(r.Older, fmt.Sprintf("%s, and had been given %q", run, w.key))
			}
		}
	}
	if e, there := s.first(); there {
		c.checkTime(r, s, e)
	}
}

// checkLast checks that the job is done, and that a run that began after each write saw it or a newer one.
func (c *collected) checkLast(r *Report, s *subject, known bool, there map[int64]Row) {
	name := fmt.Sprintf("job %d", s.id)
	if len(s.writes) > 0 {
		name = fmt.Sprintf("%q, job %d,", s.writes[0].key, s.id)
	}
	adders := 0
	for _, w := range s.writes {
		if !w.existed {
			adders++
		}
	}
	if adders > 1 {
		r.Unexpected = append(r.Unexpected, fmt.Sprintf("%s was added by %d enqueues", name, adders))
	}
	row, is := there[s.id]
	switch work := c.jobs[s.id]; {
	case known && !is:
		r.Lost = append(r.Lost, name+" was acknowledged and is gone")
	case known && !row.Done:
		r.Lost = append(r.Lost, name+" was acknowledged and is not done")
	case len(s.runs) == 0:
		r.Lost = append(r.Lost, name+" was acknowledged and was never run")
	case known && !work.returned:
		r.Lost = append(r.Lost, name+" is done, and no handler of it has returned")
	default:
		c.checkNewest(r, s, known, row)
	}
}

// checkNewest compares the last run with all writes.
func (c *collected) checkNewest(r *Report, s *subject, known bool, row Row) {
	last := s.runs[len(s.runs)-1]
	saw := write{c.enqueues[last.Key], last.Key}
	run := fmt.Sprintf("attempt %d, the last one of job %d,", last.Attempt, s.id)
	if known && row.Key != last.Key {
		r.Older = append(r.Older, fmt.Sprintf("%s ran with %q, and the job has %q", run, last.Key, row.Key))
	}
	for _, w := range s.writes {
		switch {
		case last.At < w.asked:
			r.Lost = append(r.Lost, fmt.Sprintf("%q was acknowledged for job %d, and %s had begun before", w.key, s.id, run))
		case saw.olderThan(w):
			r.Older = append(r.Older, fmt.Sprintf("%s ran with %q, and not with %q, which is newer", run, last.Key, w.key))
		}
	}
}

// checkTime checks that the first run of a debounced job was due when it was promised: the quiet time after the enqueue that it saw, which
// was the last one, and no earlier than that after any other; but no later than its bound.
func (c *collected) checkTime(r *Report, s *subject, e Event) {
	q := c.enqueues[e.Key]
	if q.mode != Debounce {
		return
	}
	end := int64(math.MaxInt64)
	if q.atMost > 0 {
		end = e.Created + q.atMost
	}
	wrong := func(format string, args ...any) {
		r.Older = append(r.Older, fmt.Sprintf("job %d with %q was due %d us after it was added: ", s.id, e.Key, e.Due-e.Created)+fmt.Sprintf(format, args...))
	}
	switch {
	case e.At < e.Due || e.Claimed < e.Due:
		wrong("it ran %d us too early", e.Due-min(e.At, e.Claimed))
	case e.Due > end:
		wrong("it may be put off by %d us", q.atMost)
	case q.outcome == Acked && e.Due > q.at+q.quiet:
		wrong("%d us after the answer", e.Due-q.at)
	}
	for _, w := range s.writes {
		// An enqueue after the bound changes no time.
		if w.mode == Debounce && w.at <= end && w.at <= e.Claimed && e.Due < min(w.asked+w.quiet, end) {
			wrong("only %d us after %q was enqueued, whose quiet time is %d us", e.Due-w.asked, w.key, w.quiet)
		}
	}
}

// checkFound checks enqueues that found a job and left it as it was: only Replace may, when the job runs.
func (c *collected) checkFound(r *Report, there map[int64]Row, known bool) {
	for _, key := range slices.Sorted(maps.Keys(c.enqueues)) {
		q := c.enqueues[key]
		if q.mode == "" || q.outcome != Acked || !q.existed {
			continue
		}
		if !q.replaced && q.mode != Replace {
			r.Lost = append(r.Lost, fmt.Sprintf("%q was not added because of job %d, and did not replace its payload either", key, q.job))
		} else if !q.replaced {
			c.checkExisted(r, key, q, known, there)
		}
	}
}

// checkSuccession checks the jobs of one unique key: no two of them run at once, and none is added while one waits.
func (c *collected) checkSuccession(r *Report, unique string, list []*subject) {
	var runs []live
	for _, s := range list {
		if len(s.runs) == 0 {
			continue
		}
		w := c.jobs[s.id]
		runs = append(runs, live{key: fmt.Sprint("job ", s.id), unique: unique, from: w.first, to: w.last[w.highest]})
		c.checkAlone(r, unique, s, list)
	}
	slices.SortFunc(runs, func(a, b live) int { return cmp.Compare(a.from, b.from) })
	for i, l := range runs {
		for _, next := range runs[i+1:] {
			if next.from >= l.to {
				break
			}
			r.Unique = append(r.Unique, fmt.Sprintf("%s and %s ran at once with the unique key %q", l.key, next.key, unique))
		}
	}
}

// checkAlone finds jobs that were added while one with their unique key certainly waited for its first run: from the answer to the enqueue
// that added that one until its claim.
func (c *collected) checkAlone(r *Report, unique string, s *subject, list []*subject) {
	first, ran := s.first()
	added, told := s.added()
	if !ran || !told {
		return
	}
	for _, other := range list {
		w, told := other.added()
		if other != s && told && w.asked > added.at && w.at < first.Claimed {
			r.Unique = append(r.Unique, fmt.Sprintf("job %d was added with %q while job %d waited with the unique key %q", other.id, w.key, s.id, unique))
		}
	}
}
