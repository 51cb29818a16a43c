package jobs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/audit"
	"github.com/sqluice/sqluice/internal/queue/cipher"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/internal/queue/schedule"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// Schedule is a job with the times to enqueue it. Make one with [Kind.Cron], [Kind.Every] or [NewSchedule], and pass it
// to [Runner.Schedule] or [Client.PutSchedule], which return its faults. It is a value: keep and reuse it freely.
type Schedule struct {
	name, spec, zone string
	catchUp          CatchUp
	overlap          Overlap
	job              *enqueue
	payload          []byte
	fault            error
}

// Cron returns a schedule of the kind by a cron specification: minute, hour, day of month, month and day of week, as in "0 2 * * *";
// six fields begin with the second; or @daily and its like. Fields have numbers, names, lists, ranges and steps, and L for the last day
// of a month, 5L for its last Friday, 5#2 for its second one. When day of month and day of week are both restricted, a day that matches
// either counts.
//
// When a zone's clock changes, a fixed time of day that is skipped is due at the end of the gap, and one that is repeated is due the
// first time. A specification with a wildcard in its minute or hour follows real time.
func (k Kind[T]) Cron(name, spec string, args T, opts ...ScheduleOption) Schedule {
	data, err := json.Marshal(args)
	s := newSchedule(name, spec, k.enqueue(nil), data, opts)
	if err != nil {
		s.fault = fmt.Errorf("encode payload: %w", err)
	}
	return s
}

// Every returns a schedule of the kind with ticks at an interval of whole seconds, counted from when it was first put.
func (k Kind[T]) Every(name string, every time.Duration, args T, opts ...ScheduleOption) Schedule {
	return k.Cron(name, "@every "+every.String(), args, opts...)
}

// NewSchedule returns a schedule of a kind given by name, with a payload that is JSON already. spec is as for [Kind.Cron], or
// "@every 90s".
func NewSchedule(name, spec, kind string, payload json.RawMessage, opts ...ScheduleOption) Schedule {
	return newSchedule(name, spec, newEnqueue(kind, nil), orEmpty(payload), opts)
}

func newSchedule(name, spec string, job *enqueue, payload []byte, opts []ScheduleOption) Schedule {
	s := Schedule{name: name, spec: spec, zone: "UTC", catchUp: CatchUpLatest, overlap: OverlapAllow, job: job, payload: payload}
	for _, opt := range opts {
		opt.schedule(&s)
	}
	return s
}

// ScheduleOption is a [Zone], a [CatchUp], an [Overlap], or an [EnqueueOption] for the schedule's jobs. Of these, a schedule takes no
// [In], [At], [StartBy], [Unique] and [RequestID], and [Metadata] only of an object, because the jobs have their tick in it.
type ScheduleOption interface{ schedule(*Schedule) }

// Zone is the time zone of a schedule, by its IANA name; UTC by default.
type Zone string

// CatchUp is the rule for missed ticks: no runner was there to enqueue their jobs, or none could reach the database, for more
// than about ten seconds; or the clock was set forward.
type CatchUp string

// Overlap is the rule for a tick when the job of the previous one has not ended.
type Overlap string

const (
	CatchUpLatest CatchUp = schedule.CatchUpLatest // one job for all missed ticks: the default
	CatchUpNone   CatchUp = schedule.CatchUpNone   // no job for missed ticks

	OverlapAllow   Overlap = schedule.OverlapAllow   // enqueue another job: the default
	OverlapSkip    Overlap = schedule.OverlapSkip    // skip the tick
	OverlapReplace Overlap = schedule.OverlapReplace // cancel the job, and enqueue another when it has ended
	OverlapAfter   Overlap = schedule.OverlapAfter   // enqueue another job when it has ended: one for all ticks meanwhile
)

// CatchUpAll enqueues a job for each of the last missed ticks, at most most of them: 1 to 999.
func CatchUpAll(most int) CatchUp { return CatchUp(schedule.CatchUpAll + strconv.Itoa(most)) }

func (z Zone) schedule(s *Schedule)          { s.zone = string(z) }
func (c CatchUp) schedule(s *Schedule)       { s.catchUp = c }
func (o Overlap) schedule(s *Schedule)       { s.overlap = o }
func (o EnqueueOption) schedule(s *Schedule) { o(s.job) }

// Validate returns the error for which [Client.PutSchedule] would refuse the schedule, without a database, or nil.
func (s Schedule) Validate() error {
	_, err := s.rowWith(nil, time.Now(), false)
	return err
}

// row validates the schedule and returns its row, as put now.
func (s Schedule) row(c *Client, now time.Time, inCode bool) (db.PutScheduleParams, error) {
	return s.rowWith(c.scope().Cipher, now, inCode)
}

// rowWith does what row does, with a cipher for the payload, which may be nil.
func (s Schedule) rowWith(cipher *cipher.Cipher, now time.Time, inCode bool) (db.PutScheduleParams, error) {
	if s.job == nil {
		return db.PutScheduleParams{}, jobtype.NewInvalidError("schedule", "", "be made with Kind.Cron, Kind.Every or NewSchedule, and not the zero Schedule")
	}
	p := db.PutScheduleParams{
		Name: s.name, Kind: s.job.kind, Queue: cmp.Or(s.job.queue, DefaultQueue), Spec: s.spec, Zone: s.zone,
		CatchUp: string(s.catchUp), Overlap: string(s.overlap), Origin: schedule.OriginClient,
	}
	if inCode {
		p.Origin = schedule.OriginCode
	}
	for _, check := range []func() error{
		func() error { return ValidateName("schedule name", s.name) }, func() error { return s.fault }, s.checkOptions, s.job.check,
		func() error { return s.job.validate(s.payload) },
	} {
		if err := check(); err != nil {
			return p, err
		}
	}
	metadata, err := s.job.checkedMetadata()
	if err != nil {
		return p, err
	}
	if p.Payload, err = cipher.Schedule(p.Kind, s.payload); err != nil {
		return p, err
	}
	if p.Options, err = schedule.Options(s.job.row(now, now, StatusPending, metadata), s.job.startWithin); err != nil {
		return p, err
	}
	err = schedule.Check(&p, now)
	return p, err
}

// checkOptions checks a schedule's own options, and refuses those for single jobs.
func (s Schedule) checkOptions() error {
	for _, check := range []struct {
		refused     bool
		field, must string
	}{
		{s.job.at != nil || s.job.in != 0, "a delay or a time", "not be given to a schedule: its specification says when jobs run"},
		{!s.job.startBy.IsZero(), "a start-by time", "not be given to a schedule: use StartWithin"},
		{s.job.uniqueKey != nil, "a unique key", "not be given to a schedule: see Overlap"},
		{s.job.requestID != nil, "a request id", "not be given to a schedule"},
	} {
		if check.refused {
			return jobtype.NewInvalidError(check.field, "", check.must)
		}
	}
	if err := schedule.CheckCatchUp(string(s.catchUp)); err != nil {
		return err
	}
	return schedule.CheckOverlap(string(s.overlap))
}

// PutOption is an option of [Client.PutSchedule].
type PutOption func(*putOptions)

type putOptions struct{ force bool }

// Force also replaces a schedule that a program declares in code. The next worker that starts with that program restores the declared
// one, and records that in the audit log.
func Force() PutOption { return func(o *putOptions) { o.force = true } }

// PutSchedule adds a schedule, or replaces the one with the same name, which continues with its next tick unless the specification or the
// zone changes, and stays paused if it is. Any runner of the queue enqueues its jobs, until it is deleted, also without the program that
// put it. Due ticks of the former specification are caught up if the new one has them too; the last of the others is recorded as missed.
// The error is [ErrScheduleDeclared], with the workers' names, for a schedule that a program declares in code: see [Force].
func (c *Client) PutSchedule(ctx context.Context, s Schedule, opts ...PutOption) error {
	var options putOptions
	for _, opt := range opts {
		opt(&options)
	}
	row, err := c.scheduleRow(ctx, s)
	if err == nil {
		err = s.job.mark(ctx, c)
	}
	if err != nil {
		return fmt.Errorf("put schedule %s: %w", strconv.Quote(s.name), err)
	}
	return c.putSchedule(ctx, s.name, func(ctx context.Context, q db.Querier, now time.Time) (db.PutScheduleParams, error) {
		if err := c.checkReplaced(ctx, q, s); err != nil || options.force {
			return row, err
		}
		return row, schedule.CheckUndeclared(ctx, q, s.name, now)
	})
}

// scheduleRow validates a schedule and returns its row; if the schedule names no queue or priority, with its kind's current ones.
func (c *Client) scheduleRow(ctx context.Context, s Schedule) (db.PutScheduleParams, error) {
	if s.job != nil {
		job := *s.job
		if err := c.settle(ctx, &job); err != nil {
			return db.PutScheduleParams{}, err
		}
		s.job = &job
	}
	return s.row(c, c.store.NowWithin(ctx), false)
}

// ScheduleChange holds the changes for [Client.SetSchedule]. A nil field changes nothing.
type ScheduleChange struct {
	Spec    *string // as for [NewSchedule]
	Zone    *Zone
	Queue   *string
	CatchUp *CatchUp
	Overlap *Overlap
	Payload json.RawMessage
}

// SetSchedule changes only the given fields of a schedule. A change of one that a program declares in code lasts until a worker starts with
// that program, which restores the declared one and records that in the audit log. The error is [ErrNoSchedule] for an unknown name.
func (c *Client) SetSchedule(ctx context.Context, name string, change ScheduleChange) error {
	return c.putSchedule(ctx, name, func(ctx context.Context, q db.Querier, now time.Time) (db.PutScheduleParams, error) {
		there, err := schedule.Get(ctx, q, name)
		if err != nil {
			return db.PutScheduleParams{}, err
		}
		row := schedule.RowOf(there)
		if err := change.apply(ctx, q, c, &row); err != nil {
			return row, err
		}
		return row, schedule.Check(&row, now)
	})
}

// apply sets the given fields in a schedule's row.
func (change ScheduleChange) apply(ctx context.Context, q db.Querier, c *Client, row *db.PutScheduleParams) (err error) {
	if change.Spec != nil {
		row.Spec = *change.Spec
	}
	if change.Zone != nil {
		row.Zone = string(*change.Zone)
	}
	if change.Queue != nil {
		row.Queue = *change.Queue
		err = ValidateName("queue", row.Queue)
	}
	if change.CatchUp != nil {
		row.CatchUp = string(*change.CatchUp)
		err = errors.Join(err, schedule.CheckCatchUp(row.CatchUp))
	}
	if change.Overlap != nil {
		row.Overlap = string(*change.Overlap)
		err = errors.Join(err, schedule.CheckOverlap(row.Overlap))
	}
	if err != nil || change.Payload == nil {
		return err
	}
	s := NewSchedule(row.Name, row.Spec, row.Kind, change.Payload)
	if err := s.job.validate(s.payload); err != nil {
		return err
	}
	if err := c.checkReplaced(ctx, q, s); err != nil {
		return err
	}
	row.Payload, err = c.scope().Cipher.Schedule(row.Kind, s.payload)
	return err
}

// putSchedule puts the row that build returns, and records the changes.
func (c *Client) putSchedule(
	ctx context.Context, name string, build func(context.Context, db.Querier, time.Time) (db.PutScheduleParams, error),
) error {
	author, err := audit.Of(ctx)
	if err == nil {
		err = ValidateName("schedule name", name)
	}
	if err == nil {
		err = c.scope().InsertWith(ctx, "", true, func(ctx context.Context, q db.Querier) (inserted bool, err error) {
			now := c.store.Now()
			row, err := build(ctx, q, now)
			if err != nil {
				return false, err
			}
			var fired schedule.Fired
			change, err := schedule.Put(ctx, q, row, now, &fired)
			if err != nil {
				return false, err
			}
			detail, err := author.Detail(change)
			if err == nil {
				err = author.Record(ctx, q, core.Micros(now), audit.Entry{Action: jobtype.ActionSchedule, Detail: detail})
			}
			if err != nil {
				return false, err
			}
			return len(fired.Jobs) > 0, lifecycle.CheckOpen(ctx, q)
		})
	}
	return core.Wrap(err, "%s %s", jobtype.ActionSchedule, strconv.Quote(name))
}

// checkReplaced returns an error if the payload was read from a schedule in redacted form, or if it would replace an encrypted one and the
// client has no cipher.
func (c *Client) checkReplaced(ctx context.Context, q db.Querier, s Schedule) error {
	if err := lifecycle.CheckShown(ctx, q, s.job.kind, s.payload); err != nil || c.scope().Cipher != nil {
		return err
	}
	there, err := schedule.Get(ctx, q, s.name)
	if errors.Is(err, ErrNoSchedule) {
		return nil
	}
	if err != nil {
		return err
	}
	return cipher.CheckReplaced(there.Payload)
}

// PauseSchedule stops a schedule until ResumeSchedule, and reports whether that changed anything. Its jobs stay. A tick that was put
// off until the end of the last job is dropped.
func (c *Client) PauseSchedule(ctx context.Context, name string) (bool, error) {
	return c.changeSchedule(ctx, jobtype.ActionPauseSchedule, name, schedule.Pause)
}

// ResumeSchedule undoes PauseSchedule, and reports whether the schedule was paused. Ticks during the pause are not missed ones:
// they enqueue no jobs.
func (c *Client) ResumeSchedule(ctx context.Context, name string) (bool, error) {
	return c.changeSchedule(ctx, jobtype.ActionResumeSchedule, name, schedule.Resume)
}

// DeleteSchedule removes a schedule and reports whether there was one. Its jobs stay. A runner that declares the schedule adds it again
// when it starts.
func (c *Client) DeleteSchedule(ctx context.Context, name string) (bool, error) {
	return c.changeSchedule(ctx, jobtype.ActionDeleteSchedule, name, func(ctx context.Context, q db.Querier, name string, _ time.Time) (bool, error) {
		return schedule.Delete(ctx, q, name)
	})
}

// RunSchedule enqueues a job of a schedule at once, also while it is paused, and returns the job's id. It does not affect the
// next tick or an [Overlap].
func (c *Client) RunSchedule(ctx context.Context, name string) (id int64, err error) {
	author, err := audit.Of(ctx)
	if err == nil {
		err = checkScheduleName(name)
	}
	if err == nil {
		err = c.scope().InsertWith(ctx, "", true, func(ctx context.Context, q db.Querier) (inserted bool, err error) {
			now := c.store.Now()
			s, err := schedule.Get(ctx, q, name)
			if err != nil {
				return false, err
			}
			if id, err = schedule.RunNow(ctx, q, s, now); err != nil {
				return false, err
			}
			return true, author.Record(ctx, q, core.Micros(now), audit.Entry{
				Action: jobtype.ActionRunSchedule, JobID: id, Kind: s.Kind, Queue: s.Queue, Jobs: 1, Detail: scheduleDetail(name),
			})
		})
	}
	return core.Result(id, err, "run schedule %s", strconv.Quote(name))
}

// GetSchedule returns a schedule, or [ErrNoSchedule] for an unknown name.
func (c *Client) GetSchedule(ctx context.Context, name string) (ScheduleInfo, error) {
	info, err := readSchedules(ctx, c, name, 0, func(ctx context.Context, q db.Querier) (ScheduleInfo, error) {
		return schedule.Read(ctx, q, name, c.scope().Now(), c.view())
	})
	return core.Result(info, err, "get schedule %s", strconv.Quote(name))
}

// ListSchedules returns schedules by name, at most n, which must not be negative, after the given name; "" starts with the first.
func (c *Client) ListSchedules(ctx context.Context, after string, n int) ([]ScheduleInfo, error) {
	list, err := readSchedules(ctx, c, after, n, func(ctx context.Context, q db.Querier) ([]ScheduleInfo, error) {
		return schedule.List(ctx, q, after, n, c.scope().Now(), c.view())
	})
	return core.Result(list, err, "list schedules")
}

// ScheduleTicks returns the last ticks of a schedule with their outcomes, newest first, at most n, which must not be negative. About 100
// are kept.
func (c *Client) ScheduleTicks(ctx context.Context, name string, n int) ([]ScheduleTick, error) {
	list, err := readSchedules(ctx, c, name, n, func(ctx context.Context, q db.Querier) ([]ScheduleTick, error) {
		return schedule.Ticks(ctx, q, name, n)
	})
	return core.Result(list, err, "list ticks of schedule %s", strconv.Quote(name))
}

// readSchedules returns what fn reads, and an InvalidError for a name that no row of any engine can have, or a negative number of rows.
func readSchedules[T any](ctx context.Context, c *Client, name string, n int, fn func(context.Context, db.Querier) (T, error)) (none T, err error) {
	if err := checkScheduleName(name); err != nil {
		return none, err
	}
	if n < 0 {
		return none, jobtype.NewInvalidError("limit", strconv.Itoa(n), "not be negative")
	}
	return core.Value(ctx, c.scope().Read, fn)
}

// checkScheduleName returns an InvalidError for a name that no row of any engine can have.
func checkScheduleName(name string) error { return core.CheckPortable("schedule name", name) }

// changeSchedule makes a change of one schedule and records it.
func (c *Client) changeSchedule(
	ctx context.Context, action jobtype.Action, name string, change func(_ context.Context, _ db.Querier, name string, now time.Time) (bool, error),
) (changed bool, err error) {
	author, err := audit.Of(ctx)
	if err == nil {
		err = ValidateName("schedule name", name)
	}
	if err == nil {
		err = lifecycle.Change(ctx, c.scope(), 0, func(ctx context.Context, q db.Querier) (err error) {
			now := c.store.Now()
			if changed, err = change(ctx, q, name, now); err != nil || !changed {
				return err
			}
			return author.Record(ctx, q, core.Micros(now), audit.Entry{Action: action, Detail: scheduleDetail(name)})
		})
	}
	return core.Result(changed, err, "%s %s", action, strconv.Quote(name))
}

// scheduleDetail returns the audit log's description of a change of a schedule.
func scheduleDetail(name string) json.RawMessage {
	return json.RawMessage(`{"schedule":` + string(core.AppendString(nil, name)) + `}`)
}
