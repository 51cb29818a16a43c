package model

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

// schedule enqueues a job at each of its ticks, which are so far apart, counted from when it was put.
type schedule struct {
	jobs.ScheduleInfo
	every    time.Duration // whole seconds
	priority int
	user     string
	key      string        // that its payload is encrypted with; empty for none
	within   time.Duration // after its tick a job must start; 0 for no such bound
	catchUp  int           // for how many missed ticks there are jobs
	ticks    []jobs.ScheduleTick
}

// next returns the first tick after a time, which may be before the schedule was put.
func (s *schedule) next(after time.Time) time.Time {
	start := s.Start.Truncate(time.Second)
	for start.After(after) {
		start = start.Add(-s.every)
	}
	return start.Add((after.Sub(start)/s.every + 1) * s.every)
}

func (s *schedule) has(at time.Time) bool { return s.next(at.Add(-1)).Equal(at) }

// between returns the last n ticks from one on that are not after a time.
func (s *schedule) between(first, until time.Time, n int) []time.Time {
	if before := s.next(until).Add(-time.Duration(n) * s.every); before.After(first) {
		first = before
	}
	var list []time.Time
	for at := first; !at.After(until); at = at.Add(s.every) {
		list = append(list, at)
	}
	return list
}

// note records the outcome of a tick, in place of its earlier record.
func (s *schedule) note(t jobs.ScheduleTick) {
	if i := s.index(t.Tick); i >= 0 {
		t.MissedSince = s.ticks[i].MissedSince
		s.ticks[i] = t
		return
	}
	s.ticks = append(s.ticks, t)
	slices.SortFunc(s.ticks, func(a, b jobs.ScheduleTick) int { return b.Tick.Compare(a.Tick) })
}

// index returns the index of a tick's record, or -1.
func (s *schedule) index(tick time.Time) int {
	return slices.IndexFunc(s.ticks, func(t jobs.ScheduleTick) bool { return t.Tick.Equal(tick) })
}

// putSchedule adds a schedule, or replaces the one with its name. Its next tick stays unless its times change.
func (q *queue) putSchedule(s schedule) {
	s.Start, s.Created, s.Updated, s.key = q.now, q.now, q.now, q.key
	s.Next = s.next(q.now)
	if old := q.schedules[s.Name]; old != nil {
		if old.Kind == s.Kind && old.Queue == s.Queue && string(old.Payload) == string(s.Payload) && old.every == s.every &&
			old.CatchUp == s.CatchUp && old.Overlap == s.Overlap && old.priority == s.priority && old.within == s.within &&
			old.user == s.user && old.key == s.key {
			return
		}
		if old.every == s.every {
			s.Start, s.Next = old.Start, old.Next
		}
		s.Created, s.Paused, s.Owed, s.Last, s.LastJob, s.ticks = old.Created, old.Paused, old.Owed, old.Last, old.LastJob, old.ticks
		if old.every != s.every && old.Paused.IsZero() {
			q.takeOver(old, &s)
		}
	}
	q.schedules[s.Name] = &s
}

// takeOver catches up the due ticks of a schedule whose times change, if the new times have them too, and notes the last other one as
// missed. It compares the last thousand ticks of each.
func (q *queue) takeOver(old, s *schedule) {
	const compared = 1000
	theirs := old.between(old.Next, q.now, compared)
	if len(theirs) == 0 {
		return
	}
	both := slices.Concat(theirs, s.between(s.next(old.Next.Add(-1)), q.now, compared))
	slices.SortFunc(both, time.Time.Compare)
	both = slices.DeleteFunc(slices.CompactFunc(both, time.Time.Equal), func(at time.Time) bool { return !old.has(at) || !s.has(at) })
	missed := map[time.Time]time.Time{} // the first tick of a missed range, by the last one
	miss := func(list []time.Time) {
		if len(list) > 0 {
			missed[list[len(list)-1]] = list[0]
		}
	}
	miss(slices.DeleteFunc(theirs, s.has))
	var caught []time.Time
	if s.CatchUp == string(jobs.CatchUpNone) {
		miss(both)
	} else {
		caught = both[max(0, len(both)-s.catchUp):]
	}
	q.settleOwed(s)
	due := slices.Concat(caught, slices.Collect(maps.Keys(missed)))
	slices.SortFunc(due, time.Time.Compare)
	for _, at := range due {
		t := jobs.ScheduleTick{Tick: at, Outcome: jobs.TickMissed, At: q.now}
		first, isMissed := missed[at]
		if !isMissed && at.Equal(caught[0]) {
			first = both[0]
		}
		if first.Before(at) {
			t.MissedSince = first
		}
		if s.index(at) >= 0 {
			continue
		}
		s.note(t)
		if !isMissed {
			q.take(s, at)
		}
	}
}

// pauseSchedule stops a schedule. A tick that it owes is dropped.
func (q *queue) pauseSchedule(name string) (bool, error) {
	s := q.schedules[name]
	if s == nil {
		return false, jobs.ErrNoSchedule
	}
	if !s.Paused.IsZero() {
		return false, nil
	}
	s.Paused, s.Owed, s.Updated = q.now, time.Time{}, q.now
	return true, nil
}

// resumeSchedule lets a schedule go on from the next tick on.
func (q *queue) resumeSchedule(name string) (bool, error) {
	s := q.schedules[name]
	if s == nil {
		return false, jobs.ErrNoSchedule
	}
	if s.Paused.IsZero() {
		return false, nil
	}
	s.Paused, s.Next, s.Updated = time.Time{}, s.next(q.now), q.now
	return true, nil
}

func (q *queue) deleteSchedule(name string) bool {
	_, there := q.schedules[name]
	delete(q.schedules, name)
	return there
}

// runSchedule enqueues a job of a schedule at once, beside those of its ticks, which are at whole seconds.
func (q *queue) runSchedule(name string) (int64, error) {
	s := q.schedules[name]
	if s == nil {
		return 0, jobs.ErrNoSchedule
	}
	tick := q.now
	for tick.Equal(tick.Truncate(time.Second)) || s.index(tick) >= 0 {
		tick = tick.Add(time.Microsecond)
	}
	id := q.addTick(s, tick)
	s.note(jobs.ScheduleTick{Tick: tick, Outcome: jobs.TickAsked, Job: id, At: q.now})
	return id, nil
}

// addTick adds the job of a tick.
func (q *queue) addTick(s *schedule, tick time.Time) int64 {
	o := order{Job: jobs.Job{
		Kind: s.Kind, Queue: s.Queue, Priority: s.priority, UserID: s.user,
		Metadata: encoded(map[string]any{"sqluice_schedule": struct {
			Name string    `json:"name"`
			Tick time.Time `json:"tick"`
		}{s.Name, tick}}),
	}}
	setAttempts(&o.Job, 0)
	setTimeout(&o.Job, 0)
	j := q.add(o, s.Payload)
	j.keys.Payload = s.key
	if s.within != 0 {
		j.StartBy = tick.Add(s.within)
	}
	return j.ID
}

// serve does the work of a worker that has looked after schedules, pauses and jobs all the time since a moment.
func (q *queue) serve(since time.Time) {
	q.mendAhead()
	q.resumeDue()
	for _, name := range slices.Sorted(maps.Keys(q.schedules)) {
		if s := q.schedules[name]; s.Paused.IsZero() && (!s.Next.After(q.now) || !s.Owed.IsZero() && !q.isLive(s.LastJob)) {
			q.fire(s, since)
		}
	}
	q.releaseFree()
	q.expire()
}

func (q *queue) isLive(id int64) bool {
	j := q.job(id)
	return j != nil && j.live()
}

// fire handles the due ticks of a schedule.
func (q *queue) fire(s *schedule, since time.Time) {
	s.Updated = q.now
	q.settleOwed(s)
	if s.Next.After(q.now) {
		return
	}
	first := s.Next
	s.Next = s.next(q.now)
	for i, at := range s.between(s.next(first.Add(-time.Microsecond)), q.now, s.catchUp) { // a mended schedule goes on at no tick
		t := jobs.ScheduleTick{Tick: at, Outcome: jobs.TickMissed, At: q.now}
		if i == 0 && at.After(first) {
			t.MissedSince = first
		}
		if s.index(at) >= 0 { // the clock was set back
			continue
		}
		s.note(t)
		if s.CatchUp != string(jobs.CatchUpNone) || at.After(since) {
			q.take(s, at)
		}
	}
}

// settleOwed enqueues the job of the tick that a schedule owes, if its last job has ended.
func (q *queue) settleOwed(s *schedule) {
	if s.Owed.IsZero() || q.isLive(s.LastJob) {
		return
	}
	replaced := int64(0)
	if s.Overlap == string(jobs.OverlapReplace) {
		replaced = s.LastJob
	}
	owed := s.Owed
	s.Owed = time.Time{}
	q.enqueueTick(s, owed, replaced)
}

// take enqueues the job of a tick, or follows the schedule's overlap when the last one has not ended.
func (q *queue) take(s *schedule, at time.Time) {
	overlap := jobs.Overlap(s.Overlap)
	if overlap == jobs.OverlapAllow || !q.isLive(s.LastJob) {
		q.enqueueTick(s, at, 0)
		return
	}
	if overlap == jobs.OverlapSkip {
		s.note(jobs.ScheduleTick{Tick: at, Outcome: jobs.TickSkipped, At: q.now})
		return
	}
	if overlap == jobs.OverlapReplace {
		if status, _ := q.cancel(s.LastJob); status == jobs.StatusCancelled {
			q.enqueueTick(s, at, s.LastJob)
			return
		}
	}
	if !s.Owed.IsZero() {
		s.note(jobs.ScheduleTick{Tick: s.Owed, Outcome: jobs.TickSkipped, At: q.now})
	}
	s.Owed = at
	s.note(jobs.ScheduleTick{Tick: at, Outcome: jobs.TickOwed, At: q.now})
}

func (q *queue) enqueueTick(s *schedule, at time.Time, replaced int64) {
	s.Last, s.LastJob = at, q.addTick(s, at)
	s.note(jobs.ScheduleTick{Tick: at, Outcome: jobs.TickEnqueued, Job: s.LastJob, Replaced: replaced, At: q.now})
}

// scheduleInfos returns the schedules by name, and their ticks.
func (q *queue) scheduleInfos() (list []jobs.ScheduleInfo, ticks map[string][]jobs.ScheduleTick) {
	ticks = map[string][]jobs.ScheduleTick{}
	for _, s := range q.schedules {
		s.Unhandled = !slices.ContainsFunc(q.shown(), func(w *worker) bool { return w.Queues[s.Queue] > 0 && slices.Contains(w.Kinds, s.Kind) })
		list = append(list, s.ScheduleInfo)
		ticks[s.Name] = s.ticks
	}
	slices.SortFunc(list, func(a, b jobs.ScheduleInfo) int { return cmp.Compare(a.Name, b.Name) })
	return list, ticks
}
