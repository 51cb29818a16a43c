package jobs

import (
	"slices"
	"time"

	"github.com/sqluice/sqluice/internal/queue/core"
)

const (
	// aheadBytes is how much the payloads of a lane's jobs ahead may take, about.
	aheadBytes = 4 << 20

	// aheadGoal is how long a job that was claimed ahead should wait for its slot at most.
	aheadGoal = 20 * time.Millisecond

	// aheadFor is the longest time that such a job waits for its slot. Then it is given back, for others to run.
	aheadFor = 100 * time.Millisecond

	// aheadNot is for how many turns nothing is claimed ahead after what was had to be given back in the same turn.
	aheadNot = 100

	// paceOver is of about how many attempts a lane's pace and weight are the mean.
	paceOver = 16
)

// lane is a queue's part of a session: its slots, and jobs that were claimed ahead so that no slot waits for the
// database. While a job waits, no slot is free. The session's mu guards it.
type lane struct {
	slots    int
	most     int       // of the jobs ahead
	active   int       // handlers that have not returned
	kept     int       // slots for jobs that are being handed over
	declined int       // how often in a row the queue declined a job that was being handed over
	handNext time.Time // when it is asked again
	ahead    []*attempt
	room     int           // for jobs ahead, as far as it is known
	brake    int           // from here on the room grows slowly: it was too much before; 0 when it never was
	not      int           // for how many turns prefetching pauses
	late     time.Duration // the longest time since the last turn that a job waited for its slot
	pace     time.Duration // how long attempts took lately, 0 while none has ended
	weight   int           // the bytes of their payloads

	suspects int // of the jobs here: those that were running when a process died before
}

func newLanes(c Config) map[string]*lane {
	lanes := make(map[string]*lane, len(c.Queues))
	for queue, slots := range c.Queues {
		lanes[queue] = &lane{slots: slots, most: c.Ahead}
	}
	return lanes
}

// free is how many slots have no job.
func (l *lane) free() int { return max(0, l.slots-l.active-l.kept) }

// wants is how many more jobs the lane takes when a turn takes so long. A turn that has nothing else to do is worth half
// of those ahead. What waits when its process dies is charged with the crash as well, so nothing is claimed ahead where
// there are jobs that may be to blame for one.
func (l *lane) wants(turn time.Duration, worth, suspects bool) int {
	ahead := 0
	if l.not > 0 {
		l.not--
	} else if l.pace > 0 && !suspects && l.kept == 0 { // nor while a slot is kept: what waited would not get it
		l.adapt()
		ahead = min(l.room, aheadBytes/max(l.weight, 1))
		// Enough for the slots to go on during two turns: where jobs are slow that is none.
		ahead = int(min(float64(ahead), float64(l.slots)*float64(2*turn)/float64(l.pace)))
	}
	n := l.slots + ahead - l.active - l.kept - len(l.ahead)
	if n <= 0 || !worth && n <= ahead/2 {
		return 0
	}
	return n
}

// adapt makes more room when slots ran out of jobs, and less when jobs waited for long: because the machine is busy with
// other things, say, or because jobs take longer than those before.
func (l *lane) adapt() {
	switch {
	case l.late > aheadGoal:
		l.room = int(float64(l.room) * float64(aheadGoal) / float64(l.late))
	case l.active == l.slots:
	case l.brake > 0 && l.room >= l.brake:
		l.room = min(l.room+l.slots, l.most)
	default:
		l.room = min(max(2*l.room, l.slots), l.most)
	}
	l.late = 0
}

// add takes in a job that was claimed; its slot, if it has to wait for one, comes later.
func (l *lane) add(a *attempt) (begun bool) {
	if a.job.Crashes > 0 {
		l.suspects++
	}
	if a.kept {
		l.kept--
	}
	if l.free() == 0 {
		l.ahead = append(l.ahead, a)
		return false
	}
	l.begin(a)
	return true
}

// drop forgets a job that has ended or was given back.
func (l *lane) drop(a *attempt) {
	if a.job.Crashes > 0 {
		l.suspects--
	}
}

// take gives a slot to the next job that waits for one, if there are both.
func (l *lane) take(now time.Time) *attempt {
	for len(l.ahead) > 0 && l.free() > 0 {
		a := pop(&l.ahead)
		if !a.over {
			l.late = max(l.late, now.Sub(a.claimed))
			l.begin(a)
			return a
		}
		l.drop(a)
		a.cancel(nil)
	}
	return nil
}

func (l *lane) begin(a *attempt) {
	l.active++
	a.begun = true
}

// ended takes a slot back.
func (l *lane) ended(a *attempt, took time.Duration) {
	l.active--
	l.drop(a)
	if l.pace == 0 {
		l.pace, l.weight = max(took, 1), len(a.job.Payload)
	}
	l.pace += (took - l.pace) / paceOver
	l.pace = max(l.pace, 1)
	l.weight += (len(a.job.Payload) - l.weight) / paceOver
}

// overdue removes the jobs that were claimed before a time and still wait. The lane was wrong about its pace then.
func (l *lane) overdue(before time.Time) []*attempt {
	n := 0
	for n < len(l.ahead) && !l.ahead[n].claimed.After(before) {
		n++
	}
	if n > 0 {
		l.pace, l.room, l.brake = max(2*l.pace, aheadFor), 0, max(l.room/2, 1)
	}
	return l.remove(n)
}

// remove removes the first n jobs that wait, and keeps no memory of them.
func (l *lane) remove(n int) []*attempt {
	removed := slices.Clone(l.ahead[:n])
	clear(l.ahead[:n])
	if l.ahead = l.ahead[n:]; len(l.ahead) == 0 {
		l.ahead = nil
	}
	return removed
}

// giveBack returns to the queue what has waited for a slot for too long: another worker may have one that is free. It
// runs again while jobs wait.
func (s *session) giveBack() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	var oldest time.Time
	for _, l := range s.lanes {
		s.unclaim(l.overdue(now.Add(-aheadFor)))
		if len(l.ahead) > 0 {
			oldest = core.Earlier(oldest, l.ahead[0].claimed)
		}
	}
	s.back = nil
	if !oldest.IsZero() {
		s.giveBackIn(oldest.Add(aheadFor).Sub(now))
	}
}

// giveBackIn has giveBack run after d, unless it is to run anyway. Callers hold mu.
func (s *session) giveBackIn(d time.Duration) {
	if s.back == nil {
		s.back = time.AfterFunc(d, s.giveBack)
	}
}

// keepFrom has queues claim nothing ahead for a while.
func (s *session) keepFrom(queues map[string]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for queue := range queues {
		s.lanes[queue].not = aheadNot
	}
}

// closeLanes gives back all that wait for a slot; what is claimed from now on does not wait for any.
func (s *session) closeLanes() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closing = true
	s.returnAhead()
}

// returnAhead gives back all that wait for a slot. Callers hold mu.
func (s *session) returnAhead() {
	for _, l := range s.lanes {
		s.unclaim(l.remove(len(l.ahead)))
	}
}

// unclaim settles attempts that were not begun. Callers hold mu.
func (s *session) unclaim(list []*attempt) {
	for _, a := range list {
		s.lanes[a.job.Queue].drop(a)
		s.settle(a, outcome{attempt: a, fate: fateReturn}, 0)
		a.cancel(nil)
	}
	if len(list) > 0 {
		s.log.Debug("jobs that waited for a slot are given back", "jobs", len(list))
		s.signal()
	}
}
