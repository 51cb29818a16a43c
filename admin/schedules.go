package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/sqluice/sqluice/internal/newjob"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/cron"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// The numbers of ticks of a schedule in an answer.
const (
	maxTicks     = 100
	defaultTicks = 20
)

// schedule is a schedule in an answer.
type schedule struct {
	jobs.ScheduleInfo
	Payload json.RawMessage `json:"payload,omitempty"`
	Options json.RawMessage `json:"options,omitempty"`
	Status  string          `json:"state"`
	Omitted []string        `json:"omitted,omitempty"` // the names of fields that are too large for a list

	Unknown []inspect.UnknownName `json:"unknown,omitempty"` // only in the answer to a put
}

func scheduleOf(info jobs.ScheduleInfo) schedule {
	return schedule{ScheduleInfo: info, Payload: info.Payload, Options: info.Options, Status: info.State()}
}

// listed returns the schedule without the fields that are too large for a list.
func (s schedule) listed() schedule {
	if len(s.Payload) > maxListedField {
		s.Payload, s.Omitted = nil, append(s.Omitted, "payload")
	}
	if len(s.Options) > maxListedField {
		s.Options, s.Omitted = nil, append(s.Omitted, "options")
	}
	return s
}

type scheduleList struct {
	Schedules []schedule `json:"schedules"`
	Next      string     `json:"next,omitempty"` // the parameter after of the next page; empty if this is the last one
}

func (h *Handler) listSchedules(r *http.Request) (answer, error) {
	q := queryOf(r, "after", "limit")
	after, limit := q.text("after"), q.limit()
	if q.fault != nil {
		return answer{}, q.fault
	}
	list, err := h.schedulesAfter(r.Context(), after, limit)
	return answer{body: list}, err
}

// schedulesAfter returns at most limit schedules whose names follow a name.
func (h *Handler) schedulesAfter(ctx context.Context, after string, limit int) (scheduleList, error) {
	if after != "" {
		if err := jobs.ValidateName("after", after); err != nil {
			return scheduleList{}, err
		}
	}
	infos, err := h.client.ListSchedules(ctx, after, limit+1)
	if err != nil {
		return scheduleList{}, err
	}
	page := scheduleList{Schedules: []schedule{}}
	for i, info := range infos {
		if i == limit {
			page.Next = infos[i-1].Name
			break
		}
		page.Schedules = append(page.Schedules, scheduleOf(info).listed())
	}
	return page, nil
}

// scheduleName returns the name of a schedule in a request's path. It returns an error if the name is invalid or check refuses the request.
func scheduleName(r *http.Request, check func(*http.Request) error) (string, error) {
	name := pathName(r)
	if err := jobs.ValidateName("schedule name", name); err != nil {
		return "", err
	}
	return name, check(r)
}

// scheduleDetail is a schedule with its last ticks.
type scheduleDetail struct {
	Schedule schedule            `json:"schedule"`
	Ticks    []jobs.ScheduleTick `json:"ticks"` // newest first
}

func (h *Handler) getSchedule(r *http.Request) (answer, error) {
	q := queryOf(r, "ticks")
	ticks := q.number("ticks", defaultTicks, maxTicks)
	name, err := scheduleName(r, func(*http.Request) error { return q.fault })
	if err != nil {
		return answer{}, err
	}
	info, err := h.client.GetSchedule(r.Context(), name)
	if err != nil {
		return answer{}, err
	}
	d := scheduleDetail{Schedule: scheduleOf(info)}
	d.Ticks, err = h.client.ScheduleTicks(r.Context(), name, ticks)
	return answer{body: d}, err
}

func (h *Handler) whySchedule(r *http.Request) (answer, error) {
	name, err := scheduleName(r, noQuery)
	if err != nil {
		return answer{}, err
	}
	diagnosis, err := h.inspector.WhySchedule(r.Context(), name)
	return answer{body: diagnosis}, err
}

// scheduleRequest is the body of a request that puts a schedule. Missing fields and empty texts mean the library's defaults.
type scheduleRequest struct {
	newjob.Common
	Cron    *string        `json:"cron"`
	Every   *time.Duration `json:"every_ns"`
	Zone    string         `json:"zone"`
	CatchUp string         `json:"catch_up"`
	Overlap string         `json:"overlap"`
	Force   bool           `json:"force"`
}

// spec returns the specification.
func (q scheduleRequest) spec() (string, error) {
	switch {
	case q.Cron == nil && q.Every == nil:
		return "", &jobs.InvalidError{Field: "cron", Must: "be given, or every_ns"}
	case q.Cron != nil && q.Every != nil:
		return "", &jobs.InvalidError{Field: "every_ns", Must: "not be given together with cron"}
	case q.Every != nil && (*q.Every < cron.MinEvery || *q.Every > cron.MaxEvery || *q.Every%time.Second != 0):
		return "", &jobs.InvalidError{Field: "every_ns", Value: fmt.Sprint(int64(*q.Every)),
			Must: fmt.Sprintf("be whole seconds, in nanoseconds, from %d to %d", cron.MinEvery, cron.MaxEvery)}
	case q.Every != nil:
		return "@every " + q.Every.String(), nil
	}
	return *q.Cron, nil
}

// schedule returns the schedule with a name.
func (q scheduleRequest) schedule(name string) (jobs.Schedule, error) {
	spec, err := q.spec()
	if err != nil {
		return jobs.Schedule{}, err
	}
	var opts []jobs.ScheduleOption
	for _, opt := range q.Options() {
		opts = append(opts, opt)
	}
	if q.Zone != "" {
		opts = append(opts, jobs.Zone(q.Zone))
	}
	if q.CatchUp != "" {
		opts = append(opts, jobs.CatchUp(q.CatchUp))
	}
	if q.Overlap != "" {
		opts = append(opts, jobs.Overlap(q.Overlap))
	}
	return jobs.NewSchedule(name, spec, q.Kind, q.Args(), opts...), nil
}

func (h *Handler) putSchedule(r *http.Request) (answer, error) {
	var q scheduleRequest
	name, err := scheduleName(r, func(r *http.Request) error { return decode(r, &q) })
	if err != nil {
		return answer{}, err
	}
	s, err := q.schedule(name)
	if err != nil {
		return answer{}, err
	}
	unknown, err := h.inspector.UnknownNames(r.Context(), []string{q.Kind}, []string{core.Deref(q.Queue)})
	if err != nil {
		return answer{}, err
	}
	var opts []jobs.PutOption
	if q.Force {
		opts = append(opts, jobs.Force())
	}
	if err := h.client.PutSchedule(r.Context(), s, opts...); err != nil {
		return answer{}, err
	}
	info, err := h.client.GetSchedule(r.Context(), name)
	if err != nil {
		// An error would make the client repeat the change.
		h.logError(r, "reading a changed schedule failed", err)
		return answer{status: http.StatusNoContent}, nil
	}
	put := scheduleOf(info)
	put.Unknown = unknown
	return answer{body: put}, nil
}

func (h *Handler) deleteSchedule(r *http.Request) (answer, error) {
	name, err := scheduleName(r, refuseBody)
	if err != nil {
		return answer{}, err
	}
	switch found, err := h.client.DeleteSchedule(r.Context(), name); {
	case err != nil:
		return answer{}, err
	case !found:
		return answer{}, fmt.Errorf("delete schedule %s: %w", strconv.Quote(name), jobs.ErrNoSchedule)
	}
	return answer{status: http.StatusNoContent}, nil
}

// schedulePausing is the answer to a pause or a resume.
type schedulePausing struct {
	Schedule string `json:"schedule"`
	Paused   bool   `json:"paused"`
	Changed  bool   `json:"changed"` // false if the schedule was already in this state
}

func (h *Handler) pauseSchedule(r *http.Request) (answer, error) {
	return h.setSchedule(r, true, h.client.PauseSchedule)
}

func (h *Handler) resumeSchedule(r *http.Request) (answer, error) {
	return h.setSchedule(r, false, h.client.ResumeSchedule)
}

func (h *Handler) setSchedule(r *http.Request, paused bool, set func(context.Context, string) (bool, error)) (answer, error) {
	name, err := scheduleName(r, refuseBody)
	if err != nil {
		return answer{}, err
	}
	changed, err := set(r.Context(), name)
	return answer{body: schedulePausing{name, paused, changed}}, err
}

// started is the answer to a request to run a schedule at once.
type started struct {
	ID int64 `json:"id"` // the id of the job
}

func (h *Handler) runSchedule(r *http.Request) (answer, error) {
	name, err := scheduleName(r, refuseBody)
	if err != nil {
		return answer{}, err
	}
	id, err := h.client.RunSchedule(r.Context(), name)
	if err != nil {
		return answer{}, h.withFault(r.Context(), name, err)
	}
	return answer{status: http.StatusCreated, body: started{id}, location: fmt.Sprint("/jobs/", id)}, nil
}

// withFault returns the error of a run at once. If the schedule has a fault, it returns a problem with the fault, the likely cause.
func (h *Handler) withFault(ctx context.Context, name string, err error) error {
	if problemOf(err).Code != "internal" {
		return err
	}
	info, readErr := h.client.GetSchedule(ctx, name)
	if readErr != nil || info.Fault == "" {
		return err
	}
	return &problem{Status: http.StatusConflict, Code: "schedule-fault", Detail: fmt.Sprintf("the schedule %q has a fault: %s", name, info.Fault)}
}
