package inspect

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/schedule"
	"github.com/sqluice/sqluice/jobs"
)

// Snapshot is an overview of jobs, workers and queues, read at once. Each field except Waits holds the result of the Inspector's method of
// the same name.
type Snapshot struct {
	Counts  []Count
	Stats   Stats
	Queues  []QueueInfo
	Workers []WorkerInfo
	Waits   []Wait // ordered by queue and kind
}

// Wait says since when due jobs of one kind wait in a queue for a worker.
type Wait struct {
	Queue, Kind string
	Since       time.Time // when the first of them fell due
	Paused      bool      // a pause of the queue, or of the kind in it, blocks them
}

// Snapshot reads [Inspector.Counts], [Inspector.Stats], [Inspector.Queues] and [Inspector.Workers] at once.
func (in *Inspector) Snapshot(ctx context.Context) (Snapshot, error) {
	var s Snapshot
	err := in.scope.Read(ctx, func(ctx context.Context, q db.Querier) error {
		var due []Count
		var err error
		if s.Counts, due, err = countJobs(ctx, q, in.scope.Now()); err != nil {
			return fmt.Errorf("count jobs: %w", err)
		}
		if s.Workers, err = listWorkers(ctx, q, in.scope.Now()); err != nil {
			return fmt.Errorf("list workers: %w", err)
		}
		paused, err := q.ListPauses(ctx)
		if err != nil {
			return fmt.Errorf("list pauses: %w", err)
		}
		s.Waits = waitsOf(s.Counts, due, paused, in.scope.Now())
		s.Stats, s.Queues = statsOf(s.Counts, due, s.Waits, s.Workers), queuesOf(s.Counts, due, paused, s.Workers)
		if s.Stats.UnknownVersions, err = unknownVersions(ctx, q, s.Workers); err != nil {
			return err
		}
		return nil
	})
	if err != nil {
		return Snapshot{}, err
	}
	return s, nil
}

func listWorkers(ctx context.Context, q db.Querier, now time.Time) ([]WorkerInfo, error) {
	rows, err := engine.LiveWorkers(ctx, q, now)
	if err != nil {
		return nil, err
	}
	counts, err := q.CountRunningJobsPerWorker(ctx)
	if err != nil {
		return nil, err
	}
	declared, err := schedule.Declared(ctx, q, now)
	if err != nil {
		return nil, fmt.Errorf("list the declarations of workers: %w", err)
	}
	versions, err := liveVersions(ctx, q, now)
	if err != nil {
		return nil, err
	}
	running := map[int64]int64{}
	for _, r := range counts {
		running[r.WorkerID] = r.Jobs
	}
	workers := make([]WorkerInfo, len(rows))
	for i, r := range rows {
		workers[i] = WorkerInfo{
			ID: r.ID, Name: r.Name, Host: r.Host, PID: int(r.Pid), Version: r.Version, Running: running[r.ID],
			Queues: engine.Slots(r), Kinds: engine.Kinds(r), Versions: versions[r.ID],
			Schedules: declared[r.ID],
			StartedAt: core.Time(r.StartedAt), Heartbeat: core.Time(r.HeartbeatAt),
		}
	}
	return workers, nil
}

func statsOf(counts, due []Count, waits []Wait, workers []WorkerInfo) Stats {
	s := Stats{Jobs: map[jobs.Status]int64{}, Workers: len(workers)}
	for _, status := range jobs.Statuses() {
		s.Jobs[status] = 0
	}
	taken := engine.Taken{}
	for _, w := range workers {
		taken.Add(w.Queues, w.Kinds)
	}
	unhandled := map[engine.Work]int64{}
	wait := func(n Count) {
		if of := (engine.Work{Queue: n.Queue, Kind: n.Kind}); !taken[of] {
			unhandled[of] += n.Jobs
		}
	}
	for _, n := range due {
		wait(n)
	}
	for _, n := range counts {
		s.Jobs[n.Status] += n.Jobs
		switch n.Status {
		case jobs.StatusPending, jobs.StatusWaiting:
			wait(n)
		case jobs.StatusScheduled:
			s.NextDue = core.Earlier(s.NextDue, n.Since)
		}
	}
	for _, w := range waits {
		if w.Paused {
			s.OldestPaused = core.Earlier(s.OldestPaused, w.Since)
		} else {
			s.OldestPending = core.Earlier(s.OldestPending, w.Since)
		}
	}
	for of, n := range unhandled {
		s.Unhandled = append(s.Unhandled, UnhandledWork{of.Queue, of.Kind, n})
	}
	slices.SortFunc(s.Unhandled, func(a, b UnhandledWork) int {
		return cmp.Or(strings.Compare(a.Queue, b.Queue), strings.Compare(a.Kind, b.Kind))
	})
	return s
}

// waitsOf returns, by queue and kind, since when due jobs wait. A pause that is over at now blocks none.
func waitsOf(counts, due []Count, pauses []db.Pause, now time.Time) []Wait {
	type work struct{ queue, kind string } // without a kind: the whole queue
	paused, since := map[work]bool{}, map[work]time.Time{}
	for _, p := range pauses {
		until := core.Time(core.Deref(p.PausedUntil))
		paused[work{p.Queue, p.Kind}] = until.IsZero() || until.After(now)
	}
	for _, list := range [][]Count{counts, due} {
		for _, n := range list {
			if of := (work{n.Queue, n.Kind}); n.Status != jobs.StatusScheduled && n.Status != jobs.StatusWaiting && !n.Since.IsZero() {
				since[of] = core.Earlier(since[of], n.Since)
			}
		}
	}
	list := make([]Wait, 0, len(since))
	for of, at := range since {
		list = append(list, Wait{of.queue, of.kind, at, paused[of] || paused[work{queue: of.queue}]})
	}
	slices.SortFunc(list, func(a, b Wait) int {
		return cmp.Or(strings.Compare(a.Queue, b.Queue), strings.Compare(a.Kind, b.Kind))
	})
	return list
}

// markPauses sets the pauses in the queues that a function returns.
func markPauses(pauses []db.Pause, queue func(name string) *QueueInfo) {
	for _, p := range pauses {
		info := queue(p.Queue)
		pause := KindPause{p.Kind, core.Time(p.PausedAt), core.Time(core.Deref(p.PausedUntil)), core.Deref(p.PausedBy), core.Deref(p.Reason)}
		if p.Kind == "" {
			info.PausedAt, info.PausedUntil, info.PausedBy, info.PauseReason = pause.At, pause.Until, pause.By, pause.Reason
		} else {
			info.PausedKinds = append(info.PausedKinds, pause)
		}
	}
}

func queuesOf(counts, due []Count, pauses []db.Pause, workers []WorkerInfo) []QueueInfo {
	byName := map[string]*QueueInfo{}
	queue := func(name string) *QueueInfo {
		if byName[name] == nil {
			byName[name] = &QueueInfo{Name: name}
		}
		return byName[name]
	}
	for _, n := range counts {
		switch n.Status {
		case jobs.StatusScheduled:
			queue(n.Queue).Scheduled += n.Jobs
		case jobs.StatusWaiting:
			queue(n.Queue).Waiting += n.Jobs
		case jobs.StatusPending:
			info := queue(n.Queue)
			info.Pending += n.Jobs
			info.Oldest = core.Earlier(info.Oldest, n.Since)
		case jobs.StatusRunning:
			queue(n.Queue).Running += n.Jobs
		}
	}
	for _, n := range due {
		info := queue(n.Queue)
		info.Oldest = core.Earlier(info.Oldest, n.Since)
	}
	markPauses(pauses, queue)
	for _, w := range workers {
		for name, slots := range w.Queues {
			queue(name).Slots += slots
		}
	}
	list := make([]QueueInfo, 0, len(byName))
	for _, info := range byName {
		list = append(list, *info)
	}
	slices.SortFunc(list, func(a, b QueueInfo) int { return strings.Compare(a.Name, b.Name) })
	return list
}
