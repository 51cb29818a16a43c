package schedule

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/redact"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// Read returns a schedule for people, with the values that view may show. The error is [jobtype.ErrNoSchedule] when
// there is none.
func Read(ctx context.Context, q db.Querier, name string, now time.Time, view redact.View) (jobtype.Schedule, error) {
	s, err := Get(ctx, q, name)
	if err != nil {
		return jobtype.Schedule{}, err
	}
	list, err := show(ctx, q, []db.Schedule{s}, now, view)
	if err != nil {
		return jobtype.Schedule{}, err
	}
	return list[0], nil
}

// List is [Read] for at most n schedules in the order of their names, which follow the name after.
func List(ctx context.Context, q db.Querier, after string, n int, now time.Time, view redact.View) ([]jobtype.Schedule, error) {
	rows, err := q.ListSchedules(ctx, db.ListSchedulesParams{AfterName: after, N: int64(n)})
	if err != nil {
		return nil, err
	}
	return show(ctx, q, rows, now, view)
}

// Overview counts the schedules, and shows whether they are served.
type Overview struct {
	States    map[string]int64      // the number of schedules by state; 0 for a state without one
	Overdue   time.Duration         // the time for which the most overdue active schedule has been due
	Unhandled map[engine.Work]int64 // the number of active schedules whose kind no live worker takes from their queue
}

// Survey counts the schedules.
func Survey(ctx context.Context, q db.Querier, now time.Time) (Overview, error) {
	rows, err := q.ListScheduleTimes(ctx)
	if err != nil {
		return Overview{}, err
	}
	live, err := readLive(ctx, q, now)
	if err != nil {
		return Overview{}, err
	}
	counts := map[string]int64{jobtype.ScheduleActive: 0, jobtype.SchedulePaused: 0, jobtype.ScheduleUndeclared: 0, jobtype.ScheduleFaulty: 0}
	o := Overview{States: counts, Unhandled: map[engine.Work]int64{}}
	for _, r := range rows {
		state := jobtype.Schedule{
			Fault: r.Fault, Paused: core.Time(r.PausedAt), Declared: r.Origin != OriginCode || live.declared[r.Name],
		}.State()
		o.States[state]++
		if state != jobtype.ScheduleActive {
			continue
		}
		if next := core.Time(r.NextAt); !next.IsZero() {
			o.Overdue = max(o.Overdue, now.Sub(next))
		}
		if work := (engine.Work{Queue: r.Queue, Kind: r.Kind}); !live.taken[work] {
			o.Unhandled[work]++
		}
	}
	return o, nil
}

// Ticks returns the last n ticks of a schedule, newest first.
func Ticks(ctx context.Context, q db.Querier, name string, n int) ([]jobtype.Tick, error) {
	if _, err := Get(ctx, q, name); err != nil {
		return nil, err
	}
	rows, err := q.ListScheduleTicks(ctx, db.ListScheduleTicksParams{Schedule: name, N: int64(min(n, math.MaxInt32))})
	if err != nil {
		return nil, err
	}
	list := make([]jobtype.Tick, 0, len(rows))
	for _, r := range rows {
		list = append(list, jobtype.Tick{
			Tick: core.Time(r.Tick), Outcome: jobtype.TickOutcome(r.Outcome), MissedSince: core.Time(core.Deref(r.Since)),
			Job: core.Deref(r.JobID), Replaced: core.Deref(r.ReplacedID), At: core.Time(r.At),
		})
	}
	return list, nil
}

// show returns schedules for people.
func show(ctx context.Context, q db.Querier, rows []db.Schedule, now time.Time, view redact.View) ([]jobtype.Schedule, error) {
	live, err := readLive(ctx, q, now)
	if err != nil {
		return nil, err
	}
	if err := hide(ctx, q, rows, view); err != nil {
		return nil, err
	}
	list := make([]jobtype.Schedule, 0, len(rows))
	for _, r := range rows {
		list = append(list, jobtype.Schedule{
			Name: r.Name, Kind: r.Kind, Queue: r.Queue, Payload: core.JSON(r.Payload), Options: core.JSON(r.Options), Spec: r.Spec, Zone: r.Zone,
			CatchUp: r.CatchUp, Overlap: r.Overlap, InCode: r.Origin == OriginCode, Declared: r.Origin != OriginCode || live.declared[r.Name],
			Unhandled: !live.taken[engine.Work{Queue: r.Queue, Kind: r.Kind}], Start: core.Time(r.StartAt), Next: core.Time(r.NextAt), Owed: core.Time(core.Deref(r.OwedAt)), Last: core.Time(core.Deref(r.LastAt)),
			LastJob: core.Deref(r.LastJobID), Paused: core.Time(core.Deref(r.PausedAt)), Fault: core.Deref(r.Fault),
			Created: core.Time(r.CreatedAt), Updated: core.Time(r.UpdatedAt),
		})
	}
	return list, nil
}

// live holds the schedules that live workers declare, and the queues and kinds that they take.
type live struct {
	declared map[string]bool // schedules
	taken    engine.Taken
}

// readLive reads the declarations and the queues and kinds of the workers that live at now.
func readLive(ctx context.Context, q db.Querier, now time.Time) (live, error) {
	workers, err := engine.LiveWorkers(ctx, q, now)
	if err != nil {
		return live{}, err
	}
	lists, err := Declared(ctx, q, now)
	l := live{map[string]bool{}, engine.Taken{}}
	for _, names := range lists {
		for _, name := range names {
			l.declared[name] = true
		}
	}
	for _, w := range workers {
		l.taken.Add(engine.Slots(w), engine.Kinds(w))
	}
	return l, err
}

// Declared returns the names of the schedules that live workers declare, by the worker's id.
func Declared(ctx context.Context, q db.Querier, now time.Time) (map[int64][]string, error) {
	rows, err := q.ListLiveDeclarations(ctx, db.ListLiveDeclarationsParams{Now: core.Micros(now), Subject: Subject})
	if err != nil {
		return nil, err
	}
	names := map[int64][]string{}
	for _, r := range rows {
		names[r.WorkerID] = append(names[r.WorkerID], r.Name)
	}
	return names, nil
}

// hide replaces values that the view does not show in the schedules' payloads and in the metadata of their options.
func hide(ctx context.Context, q db.Querier, rows []db.Schedule, view redact.View) error {
	jobs := make([]db.Job, len(rows))
	options := make([]map[string]json.RawMessage, len(rows))
	for i, r := range rows {
		jobs[i] = db.Job{Kind: r.Kind, Payload: r.Payload}
		if err := json.Unmarshal([]byte(r.Options), &options[i]); err != nil {
			return err
		}
		if metadata := options[i]["metadata"]; metadata != nil {
			text := string(metadata)
			jobs[i].Metadata = &text
		}
	}
	if err := view.Rows(ctx, q, jobs); err != nil {
		return err
	}
	for i, job := range jobs {
		rows[i].Payload = job.Payload
		if job.Metadata == nil || string(options[i]["metadata"]) == *job.Metadata {
			continue
		}
		options[i]["metadata"] = json.RawMessage(*job.Metadata)
		text, err := json.Marshal(options[i])
		if err != nil {
			return err
		}
		rows[i].Options = string(text)
	}
	return nil
}

// Names returns the names of schedules as the text of a worker's row.
func Names(rows []db.PutScheduleParams) string {
	names := core.Map(rows, func(r db.PutScheduleParams) string { return r.Name })
	slices.Sort(names)
	return core.JSONNames(names)
}
