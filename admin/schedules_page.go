package admin

import (
	"cmp"
	"fmt"
	"net/http"
	"time"

	"github.com/sqluice/sqluice/admin/calendar"
	"github.com/sqluice/sqluice/jobs"
)

// schedulesPerPage is the maximum number of schedules on a page: each has a strip of its next days.
const schedulesPerPage = 50

// scheduleView is a schedule on pages.
type scheduleView struct {
	schedule
	Week []calendar.Day      // nil if the specification or the zone cannot be read
	Past []jobs.ScheduleTick // newest first; only on the page of the schedule
}

// schedulesView is a page of the list of schedules.
type schedulesView struct {
	Lines []scheduleView
	Next  string // the name before the next page; empty if this is the last one
	First bool   // the page is the first one
}

func (h *Handler) schedulesPage(r *http.Request) (view, error) {
	q := queryOf(r, "after")
	if q.fault != nil {
		return view{}, q.fault
	}
	list, err := h.schedulesAfter(r.Context(), q.text("after"), schedulesPerPage)
	if err != nil {
		return view{}, err
	}
	v := schedulesView{Next: list.Next, First: q.text("after") == ""}
	for _, s := range list.Schedules {
		v.Lines = append(v.Lines, h.scheduleView(s))
	}
	return view{"schedules", "Schedules", v}, nil
}

func (h *Handler) schedulePage(r *http.Request) (view, error) {
	a, err := h.getSchedule(r)
	if err != nil {
		return view{}, err
	}
	d := a.body.(scheduleDetail)
	v := h.scheduleView(d.Schedule)
	v.Past = d.Ticks
	return view{"schedule", v.Name, v}, nil
}

func (h *Handler) scheduleView(s schedule) scheduleView {
	next := s.Next
	if next.IsZero() {
		next = s.Start // "@every" counts from it
	}
	week, err := calendar.Week(s.Spec, s.Zone, next, h.inspector.Now())
	if err != nil {
		week = nil // the page shows the schedule's fault, once a worker has found it
	}
	return scheduleView{schedule: s, Week: week}
}

// Class returns the CSS class of the state.
func (v scheduleView) Class() string {
	return map[string]string{
		jobs.ScheduleActive: "done", jobs.SchedulePaused: "paused", jobs.ScheduleUndeclared: "pending", jobs.ScheduleFaulty: "failed",
	}[v.Status]
}

// Label returns the state in words.
func (v scheduleView) Label() string {
	return map[string]string{
		jobs.ScheduleActive: "Active", jobs.SchedulePaused: "Paused", jobs.ScheduleUndeclared: "No worker declares it", jobs.ScheduleFaulty: "Fault",
	}[v.Status]
}

// IsPaused reports whether the schedule is paused. A paused schedule may have another state, such as a fault.
func (v scheduleView) IsPaused() bool { return !v.Paused.IsZero() }

// Idle returns the reason why the ticks of the strip enqueue no jobs now, or "".
func (v scheduleView) Idle() string {
	return map[string]string{
		jobs.SchedulePaused:     "It is paused: no job is enqueued until it is resumed.",
		jobs.ScheduleUndeclared: "No live worker declares it: no job is enqueued until one starts.",
		jobs.ScheduleFaulty:     "A worker could not enqueue its job. Workers try again, after ten minutes at the latest.",
	}[v.Status]
}

// NoWorker returns what becomes of the jobs of an active schedule whose kind no live worker takes from its queue, or "".
func (v scheduleView) NoWorker() string {
	if v.Status != jobs.ScheduleActive || !v.Unhandled {
		return ""
	}
	return fmt.Sprintf("No live worker takes jobs of the kind %q from queue %q: the jobs of the schedule wait.", v.Kind, v.Queue)
}

// Clock returns a time in the zone of the schedule.
func (v scheduleView) Clock(t time.Time) string {
	zone := time.UTC
	if len(v.Week) > 0 {
		zone = v.Week[0].Start.Location()
	}
	return t.In(zone).Format("Mon 2 Jan 2006 15:04:05 MST")
}

// TickClass returns the CSS class of the outcome of a tick.
func (v scheduleView) TickClass(o jobs.TickOutcome) string {
	classes := map[jobs.TickOutcome]string{
		jobs.TickEnqueued: "done", jobs.TickAsked: "running", jobs.TickOwed: "pending", jobs.TickMissed: "failed",
	}
	return cmp.Or(classes[o], "cancelled")
}

// TickLabel returns the outcome of a tick in words.
func (v scheduleView) TickLabel(o jobs.TickOutcome) string {
	labels := map[jobs.TickOutcome]string{
		jobs.TickEnqueued: "Enqueued", jobs.TickAsked: "Run at once", jobs.TickOwed: "Waits for the end of the last job",
		jobs.TickSkipped: "Skipped", jobs.TickMissed: "Missed",
	}
	return cmp.Or(labels[o], string(o))
}

// changeSchedule runs, pauses, resumes or deletes a schedule. The pressed button decides.
func (h *Handler) changeSchedule(_ http.ResponseWriter, r *http.Request) (*view, flash, error) {
	name, do := r.PostForm.Get("name"), r.PostForm.Get("do")
	change, known := map[string]struct {
		route func(*Handler, *http.Request) (answer, error)
		done  string
	}{
		"run":    {(*Handler).runSchedule, "runs at once"},
		"pause":  {(*Handler).pauseSchedule, "is paused: its jobs stay, and no other is enqueued"},
		"resume": {(*Handler).resumeSchedule, "is no longer paused"},
		"delete": {(*Handler).deleteSchedule, "is deleted: its jobs stay"},
	}[do]
	if !known {
		return nil, flash{}, &jobs.InvalidError{Field: "do", Value: fmt.Sprintf("%.40q", do), Must: "be the value of a button of the page"}
	}
	if do == "delete" && r.PostForm.Get("sure") == "" {
		v, err := h.confirmSchedule(r, name)
		return v, flash{}, err
	}
	call, err := apiRequest(r, nil)
	if err != nil {
		return nil, flash{}, err
	}
	call.SetPathValue("name", name)
	a, err := change.route(h, call)
	if err != nil {
		return nil, flash{}, err
	}
	text := fmt.Sprintf("Schedule %s %s.", name, change.done)
	if job, ok := a.body.(started); ok {
		text = fmt.Sprintf("Schedule %s %s, as job %d.", name, change.done, job.ID)
	}
	if do == "delete" { // the page of the schedule is gone
		r.PostForm.Set("back", h.config.Prefix+"/schedules")
	}
	return nil, flash{OK: true, Text: text}, nil
}

// confirmSchedule asks the user to confirm the deletion of a schedule.
func (h *Handler) confirmSchedule(r *http.Request, name string) (*view, error) {
	if err := jobs.ValidateName("schedule name", name); err != nil {
		return nil, err
	}
	info, err := h.client.GetSchedule(r.Context(), name)
	if err != nil {
		return nil, err
	}
	q := question{
		Text: fmt.Sprintf("Delete the schedule %s?", name), Button: "Delete", Note: "This cannot be undone. Its jobs stay.", To: "/schedules/change", Danger: true,
	}
	if info.InCode {
		q.Note += " A worker that declares it in its code adds it again when it starts."
	}
	return h.confirm(r, q, "name", "do"), nil
}
