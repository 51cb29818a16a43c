package schedule

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/internal/queue/redact"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// Change holds the columns that [Put] changed, by name, without secrets. It is a JSON object.
type Change struct {
	Schedule string                     `json:"schedule"`
	Before   map[string]json.RawMessage `json:"before,omitempty"` // empty when the schedule did not exist
	After    map[string]json.RawMessage `json:"after,omitempty"`
}

// putTries is the number of times that Put reads a schedule that workers change meanwhile.
const putTries = 5

// mostCompared is the number of last ticks of each specification that are compared.
const mostCompared = 1000

// Put adds a schedule or replaces the one with its name. Of the ticks that are due by the old times and not served yet, the ones that
// the new times share are caught up, as the new catch_up says; the last of the others is recorded as missed. q must be that of an
// insert: fired says whether jobs were enqueued.
func Put(ctx context.Context, q db.Querier, row db.PutScheduleParams, now time.Time, fired *Fired) (Change, error) {
	for range putTries {
		before, err := Get(ctx, q, row.Name)
		if errors.Is(err, jobtype.ErrNoSchedule) {
			return Change{Schedule: row.Name}, q.PutSchedule(ctx, row)
		}
		if err != nil {
			return Change{}, err
		}
		due := passed(before, row, now)
		if len(due) > 0 {
			n, err := q.AdvanceSchedule(ctx, db.AdvanceScheduleParams{
				Name: row.Name, Version: before.Version, WasAt: before.NextAt, NextAt: row.NextAt, Now: core.Micros(now),
			})
			if err != nil {
				return Change{}, err
			}
			if n == 0 {
				continue // a worker has served a tick between the two statements (not on SQLite)
			}
		}
		change, err := changeOf(ctx, q, before, row)
		if err != nil {
			return change, err
		}
		if err := q.PutSchedule(ctx, row); err != nil || len(due) == 0 {
			return change, err
		}
		f := &firing{q: q, s: replaced(before, row), now: now, fired: fired, made: lifecycle.NewTransitions()}
		return change, f.run(ctx, due)
	}
	return Change{}, errors.New("the row changed between read and write five times: other programs change it all the time, or a trigger prevents the write")
}

// Differs reports whether Put would change the schedule; before is nil for a schedule that does not exist.
func Differs(before *db.Schedule, row db.PutScheduleParams) bool {
	return before == nil || before.Fault != nil || *before != withoutFault(replaced(*before, row))
}

func withoutFault(s db.Schedule) db.Schedule {
	s.Fault = nil
	return s
}

// replaced returns a schedule with the columns of the row. Its times stay.
func replaced(s db.Schedule, row db.PutScheduleParams) db.Schedule {
	s.Kind, s.Queue, s.Payload, s.Options, s.Spec, s.Zone = row.Kind, row.Queue, row.Payload, row.Options, row.Spec, row.Zone
	s.CatchUp, s.Overlap, s.Origin = row.CatchUp, row.Overlap, row.Origin
	return s
}

// passed returns the ticks up to now that a schedule has not served and that another specification takes from it, in order: the ticks of
// both as far as the policy catches them up, and the last tick that the other specification does not have.
func passed(before db.Schedule, row db.PutScheduleParams, now time.Time) (due []tick) {
	first := core.Time(before.NextAt)
	if before.NextAt == 0 || before.PausedAt != nil || first.After(now) || before.Spec == row.Spec && before.Zone == row.Zone {
		return nil
	}
	old, err := timesOf(before)
	if err != nil {
		return nil // the schedule had no ticks
	}
	after := replaced(before, row)
	after.StartAt = row.Now
	other, err := timesOf(after)
	if err != nil {
		return nil // the caller has checked it
	}
	ticks := old.last(first, now, mostCompared)
	both := slices.DeleteFunc(append(slices.Clone(ticks), other.last(first, now, mostCompared)...), func(at time.Time) bool {
		return !old.has(at) || !other.has(at)
	})
	slices.SortFunc(both, time.Time.Compare)
	both = slices.CompactFunc(both, time.Time.Equal)
	if only := slices.DeleteFunc(ticks, other.has); len(only) > 0 {
		due = append(due, missedTick(only))
	}
	if len(both) == 0 {
		return due
	}
	if row.CatchUp == CatchUpNone {
		due = append(due, missedTick(both))
	} else {
		kept := both[max(0, len(both)-maxTicks(row.CatchUp)):]
		for _, at := range kept {
			due = append(due, tick{at: at})
		}
		if len(kept) < len(both) {
			due[len(due)-len(kept)].since = both[0]
		}
	}
	slices.SortFunc(due, func(a, b tick) int { return a.at.Compare(b.at) })
	return due
}

// missedTick returns the last of some ticks, marked as missed together with the ticks before it.
func missedTick(ticks []time.Time) tick {
	t := tick{at: ticks[len(ticks)-1], missed: true}
	if len(ticks) > 1 {
		t.since = ticks[0]
	}
	return t
}

// has reports whether a time is a tick.
func (t times) has(at time.Time) bool {
	next, err := t.next(at.Add(-time.Microsecond))
	return err == nil && next.Equal(at)
}

// changeOf returns the difference between a schedule and the row that replaces it, as people may see it.
func changeOf(ctx context.Context, q db.Querier, before db.Schedule, row db.PutScheduleParams) (Change, error) {
	shown := []db.Schedule{before, replaced(before, row)}
	if err := hide(ctx, q, shown, redact.View{}); err != nil {
		return Change{}, err
	}
	c := Change{Schedule: row.Name, Before: map[string]json.RawMessage{}, After: map[string]json.RawMessage{}}
	for _, column := range []struct {
		name          string
		is, was       string // the new and the former value of the column, as stored
		shown, before json.RawMessage
	}{
		{"kind", row.Kind, before.Kind, quoted(row.Kind), quoted(before.Kind)},
		{"queue", row.Queue, before.Queue, quoted(row.Queue), quoted(before.Queue)},
		{"payload", row.Payload, before.Payload, json.RawMessage(shown[1].Payload), json.RawMessage(shown[0].Payload)},
		{"options", row.Options, before.Options, json.RawMessage(shown[1].Options), json.RawMessage(shown[0].Options)},
		{"spec", row.Spec, before.Spec, quoted(row.Spec), quoted(before.Spec)},
		{"zone", row.Zone, before.Zone, quoted(row.Zone), quoted(before.Zone)},
		{"catch_up", row.CatchUp, before.CatchUp, quoted(row.CatchUp), quoted(before.CatchUp)},
		{"overlap", row.Overlap, before.Overlap, quoted(row.Overlap), quoted(before.Overlap)},
		{"origin", row.Origin, before.Origin, quoted(row.Origin), quoted(before.Origin)},
	} {
		if column.is != column.was {
			c.Before[column.name], c.After[column.name] = bounded(column.before), bounded(column.shown)
		}
	}
	return c, nil
}

// shownMost is the largest number of bytes of a value in the audit.
const shownMost = 10_000

// bounded returns a value, or a note in place of one that is too long for the audit.
func bounded(value json.RawMessage) json.RawMessage {
	if len(value) > shownMost {
		return json.RawMessage(`"[longer than 10000 bytes]"`)
	}
	return value
}

func quoted(text string) json.RawMessage { return core.AppendString(nil, text) }

// RowOf returns the row with which Put would leave a schedule as it is.
func RowOf(s db.Schedule) db.PutScheduleParams {
	return db.PutScheduleParams{
		Name: s.Name, Kind: s.Kind, Queue: s.Queue, Payload: s.Payload, Options: s.Options, Spec: s.Spec, Zone: s.Zone,
		CatchUp: s.CatchUp, Overlap: s.Overlap, Origin: s.Origin,
	}
}

// CheckUndeclared returns [jobtype.ErrScheduleDeclared], with their names, if live workers declare the schedule in code.
func CheckUndeclared(ctx context.Context, q db.Querier, name string, now time.Time) error {
	s, err := Get(ctx, q, name)
	if errors.Is(err, jobtype.ErrNoSchedule) || err == nil && s.Origin != OriginCode {
		return nil
	}
	if err != nil {
		return err
	}
	workers, err := engine.LiveWorkers(ctx, q, now)
	if err != nil {
		return err
	}
	lists, err := Declared(ctx, q, now)
	if err != nil {
		return err
	}
	var by []string
	for _, w := range workers {
		if slices.Contains(lists[w.ID], name) {
			by = append(by, w.Name)
		}
	}
	if len(by) == 0 {
		return nil
	}
	who := "the worker " + strings.Join(by[:min(len(by), 5)], ", ")
	if len(by) > 5 {
		who += fmt.Sprintf(" and %d others", len(by)-5)
	}
	return fmt.Errorf("%w by %s: change the program, or force it until the program starts again", jobtype.ErrScheduleDeclared, who)
}
