package model

import (
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/sqluice/sqluice/jobs"
)

// step is an action, with its weight and a condition for when it makes sense.
type step struct {
	weight int
	name   string
	when   func() bool
	do     func(*rapid.T)
}

// step draws the next action from all actions, so that the same draw means the same when other steps are left out. The
// first names are drawn more often than their weights say.
func (m *machine) step(t *rapid.T) {
	var all []string
	steps := map[string]step{}
	for _, s := range m.steps() {
		all = append(all, slices.Repeat([]string{s.name}, s.weight)...)
		steps[s.name] = s
	}
	if rapid.Bool().Draw(t, "a microsecond later") {
		m.pass(time.Microsecond)
	}
	const draws = 10 // draws that led to no step; then nothing is done
	for range draws {
		if s := steps[pick(t, "step", all)]; s.when() {
			s.do(t)
			return
		}
	}
}

func (m *machine) steps() []step {
	always := func() bool { return true }
	few := func() bool { return len(m.model.live()) < 3 }
	jobsWith := func(holds func(*job) bool) func() bool {
		return func() bool { return slices.ContainsFunc(m.model.jobs, holds) }
	}
	workersWith := func(holds func(*worker) bool) func() bool {
		return func() bool { return slices.ContainsFunc(m.model.workers, holds) }
	}
	exists := jobsWith(func(*job) bool { return true })
	waits := jobsWith(func(j *job) bool { return j.Status == jobs.StatusPending || m.model.isDue(j) })
	runs := jobsWith(func(j *job) bool { return j.Status == jobs.StatusRunning })
	claimed := jobsWith(func(j *job) bool { return j.Attempt > 0 })
	ended := jobsWith(func(j *job) bool { return !j.live() })
	failed := jobsWith(func(j *job) bool { return j.Status == jobs.StatusFailed })
	lives := workersWith(func(w *worker) bool { return w.endedAt.IsZero() })
	locked := workersWith(func(w *worker) bool { return w.endedAt.IsZero() && w.locked })
	gone := workersWith(func(w *worker) bool { return !w.endedAt.IsZero() })

	ofUser := jobsWith(func(j *job) bool { return j.UserID != "" })
	scheduled := func() bool { return len(m.model.schedules) > 0 }

	return []step{
		{2, "enqueue", always, m.enqueue},
		{3, "claim", func() bool { return waits() && lives() }, m.claim},
		{4, "outcome", claimed, m.outcome},
		{2, "complete", claimed, m.complete},
		{2, "start worker", few, m.startWorker},
		{2, "drain", waits, m.drain},
		{3, "advance", always, m.advance},
		{6, "prune by the rules", exists, m.pruneByRules},
		{2, "put schedule", always, m.putSchedule},
		{8, "serve schedules", scheduled, m.serve},
		{2, "enqueue many", always, m.enqueueMany},
		{2, "enqueue items", always, m.enqueueItems},
		{5, "cancel", exists, m.cancel},
		{4, "retry", exists, m.retry},
		{4, "rescue", runs, m.rescue},
		{2, "transaction", always, m.transaction},
		{3, "complete many", claimed, m.completeMany},
		{4, "give back", claimed, m.giveBack},
		{3, "retry failed", failed, m.retryFailed},
		{3, "update", exists, m.update},
		{2, "delete", exists, m.remove},
		{3, "prune", ended, m.prune},
		{4, "set rules", always, m.setRules},
		{1, "remove rule", func() bool { return len(m.model.rules) > 0 }, m.removeRule},
		{2, "set the clock ahead", always, m.setAhead},
		{1, "declare rules", always, m.declareRules},
		{1, "prune anew", ended, m.pruneAnew},
		{3, "pause", always, m.pause},
		{2, "progress", claimed, m.progress},
		{4, "heartbeat", lives, m.heartbeat},
		{1, "kill worker", locked, m.killWorker},
		{3, "stop worker", lives, m.stopWorker},
		{1, "crash", always, m.crash},
		{1, "set the clock back", always, m.setBack},
		{1, "forget workers", gone, m.forgetWorkers},
		{3, "list", exists, m.list},
		{3, "report", failed, m.report},
		{3, "peek", exists, m.peek},
		{1, "wait", ended, m.wait},
		{2, "find", exists, m.find},
		{2, "settle what is overdue", always, m.settleOverdue},
		{1, "prune unique keys", func() bool { return len(m.model.periods) > 0 }, m.prunePeriods},
		{2, "change schedule", scheduled, m.changeSchedule},
		{1, "run schedule", scheduled, m.runSchedule},
		{2, "rekey", func() bool { return m.model.key != "" }, m.rekey},
		{1, "change the key", always, m.changeKey},
		{2, "forget user", ofUser, m.forgetUser},
		{2, "expire", jobsWith(m.model.isOverdue), m.expire},
	}
}
