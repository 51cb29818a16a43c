package admin

import (
	"cmp"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// jobView is the page of a job.
type jobView struct {
	detail
	Why     []reason // the reasons why the job does not run
	Changes []jobAction
}

func (h *Handler) jobPage(r *http.Request) (view, error) {
	a, err := h.getJob(r)
	if err != nil {
		return view{}, err
	}
	v := jobView{detail: a.body.(detail)}
	v.Changes = jobActionsFor(v.Status)
	diagnosis, err := h.inspector.Why(r.Context(), v.ID)
	if err != nil {
		return view{}, err
	}
	if diagnosis.Status == v.Status { // otherwise the job has changed since its read
		for _, f := range diagnosis.Findings {
			if f.Reason != inspect.ReasonEnded { // the page shows the status
				v.Why = append(v.Why, reason{f})
			}
		}
	}
	return view{"job", v.Kind, v}, nil
}

// Changeable reports whether the job can be updated.
func (v jobView) Changeable() bool {
	return v.Status == jobs.StatusScheduled || v.Status == jobs.StatusWaiting || v.Status == jobs.StatusPending
}

// FormTime returns the time at which the job is due in the layout of forms.
func (v jobView) FormTime() string { return v.RunAfter.UTC().Format(formTime) }

// timelineEntry is an event in the life of a job.
type timelineEntry struct {
	At    time.Time
	What  string
	Class string // the CSS class, for its colour
	End   *inspect.AttemptEnd
	Note  string
	// Gap is the time since the previous entry in words. It is empty for the first entry, for an unknown time, and below a millisecond.
	Gap string
	// NewDay marks the first entry of each day in UTC.
	NewDay bool
	// Before marks an event whose time is unknown, but earlier than At.
	Before bool
}

// Timeline returns the events in the life of the job, the earliest first.
func (v jobView) Timeline() []timelineEntry {
	list := []timelineEntry{{At: v.CreatedAt, What: "Enqueued", Class: "created"}}
	if v.fellDueLater() {
		list = append(list, timelineEntry{At: v.RunAfter, What: "Fell due", Class: "due"})
	}
	list = append(list, v.unrecorded()...)
	for i := range v.ends {
		e := &v.ends[i]
		entry := timelineEntry{At: e.EndedAt, What: "Attempt " + number(e.Attempt), Class: outcomeClass(e.Cause), End: e}
		if e.Cause == jobs.CauseExpired && e.StartedAt.IsZero() {
			entry.What, entry.Class = "Not started in time", "cancelled"
		}
		list = append(list, entry)
	}
	if !v.CancelRequested.IsZero() {
		list = append(list, timelineEntry{At: v.CancelRequested, What: "Asked to stop", Class: "cancelled"})
	}
	list = append(list, v.lastAttempt()...)
	switch v.Status {
	case jobs.StatusScheduled:
		list = append(list, timelineEntry{At: v.RunAfter, What: "Runs again", Class: "scheduled"})
		if v.Attempt == 0 {
			list[len(list)-1].What = "Falls due"
		}
	case jobs.StatusWaiting:
		list = append(list, timelineEntry{At: later(v.RunAfter, v.UpdatedAt), What: "Waits for its limit", Class: "pending"})
	case jobs.StatusPending:
		list = append(list, timelineEntry{At: later(v.RunAfter, v.UpdatedAt), What: "Waits for a worker", Class: "pending"})
	case jobs.StatusDone:
		list = append(list, timelineEntry{At: v.FinishedAt, What: "Done", Class: "done", Note: "in " + span(v.FinishedAt.Sub(v.StartedAt))})
	case jobs.StatusFailed:
		list = append(list, timelineEntry{At: v.FinishedAt, What: "Failed for good", Class: "failed"})
	case jobs.StatusCancelled:
		list = append(list, timelineEntry{At: v.FinishedAt, What: "Cancelled", Class: "cancelled"})
	}
	list = slices.DeleteFunc(list, func(m timelineEntry) bool { return m.At.IsZero() })
	slices.SortStableFunc(list, func(a, b timelineEntry) int { return cmp.Compare(a.At.UnixMicro(), b.At.UnixMicro()) })
	space(list)
	return list
}

// fellDueLater reports whether the job fell due after its enqueue and has started since. After the end of an attempt the row may have the
// due time of a later one.
func (v jobView) fellDueLater() bool {
	return !v.Changeable() && v.Attempt <= 1 && len(v.ends) == 0 && v.RunAfter.Sub(v.CreatedAt) >= time.Millisecond
}

// space sets the gaps between the entries, and marks the first entry of each day.
func space(list []timelineEntry) {
	var last time.Time
	for i := range list {
		m := &list[i]
		if m.Before {
			continue
		}
		m.NewDay = last.IsZero() || m.At.UTC().Format(time.DateOnly) != last.UTC().Format(time.DateOnly)
		if m.At.Sub(last) >= time.Millisecond && !last.IsZero() {
			m.Gap = inUnits(m.At.Sub(last))
		}
		last = m.At
	}
}

// Ran returns the duration of the attempt and its worker.
func (m timelineEntry) Ran() string {
	var parts []string
	switch e := m.End; {
	case !e.StartedAt.IsZero():
		parts = append(parts, "ran "+span(e.EndedAt.Sub(e.StartedAt)))
	case e.Worker != "":
		parts = append(parts, "not started")
	}
	if worker := onHost(m.End.Worker, m.End.Host); worker != "" {
		parts = append(parts, "worker "+worker)
	}
	return strings.Join(parts, ", ")
}

// outcomeClass returns the CSS class of an attempt's end.
func outcomeClass(cause jobs.Cause) string {
	switch {
	case cause == jobs.CauseCancelled:
		return "cancelled"
	case cause.Failed():
		return "failed"
	}
	return "scheduled"
}

// unrecorded returns the attempts of the page that have no row.
func (v jobView) unrecorded() (list []timelineEntry) {
	for _, r := range v.Gaps {
		entry := timelineEntry{At: v.StartedAt, What: "Attempt " + number(r.First), Class: "scheduled", Note: "not recorded", Before: true}
		if r.First < r.Last {
			entry.What = "Attempts " + number(r.First) + " to " + number(r.Last)
		}
		after := slices.IndexFunc(v.ends, func(e inspect.AttemptEnd) bool { return e.Attempt > r.Last })
		if after >= 0 {
			entry.At = v.ends[after].StartedAt
			if entry.At.IsZero() {
				entry.At = v.ends[after].EndedAt
			}
		}
		list = append(list, entry)
	}
	return list
}

// lastAttempt returns the start of the attempt in the job's row, unless the end of the attempt is recorded.
func (v jobView) lastAttempt() []timelineEntry {
	if v.Last == nil || !v.isLatest || slices.ContainsFunc(v.ends, func(e inspect.AttemptEnd) bool { return e.Attempt == v.Last.Attempt }) {
		return nil
	}
	entry := timelineEntry{At: v.Last.StartedAt, What: "Attempt " + number(v.Last.Attempt), Class: "running", Note: v.RanOn()}
	if v.Status == jobs.StatusRunning {
		entry.What += " runs"
	}
	return []timelineEntry{entry}
}

// RanOn returns the worker, with its host, of the running attempt or of the attempt that ended the job; "" if it is not known.
func (v jobView) RanOn() string {
	if v.Last == nil {
		return ""
	}
	return onHost(v.Last.Worker, v.Last.Host)
}

// onHost returns the name of a worker with its host, unless the name has the host.
func onHost(worker, host string) string {
	if host == "" || strings.Contains(worker, host) {
		return worker
	}
	return worker + " on " + host
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// reason is a finding of the diagnosis with a title.
type reason struct {
	inspect.Finding
}

// reasonTitles returns the titles of the reasons.
func reasonTitles() map[inspect.Reason]string {
	return map[inspect.Reason]string{
		inspect.ReasonEnded:          "Ended",
		inspect.ReasonKept:           "Kept for some time",
		inspect.ReasonExpired:        "Not started in time",
		inspect.ReasonStartBy:        "Must start in time",
		inspect.ReasonReplaced:       "Replaced",
		inspect.ReasonForgotten:      "Erased",
		inspect.ReasonUniqueKey:      "Its unique key is taken",
		inspect.ReasonRunning:        "Running",
		inspect.ReasonLease:          "Its worker does not answer",
		inspect.ReasonCancel:         "Asked to stop",
		inspect.ReasonUnable:         "Workers could not run it",
		inspect.ReasonNotDue:         "Not due yet",
		inspect.ReasonDebounced:      "Debounced",
		inspect.ReasonSuccessor:      "Waits for another job",
		inspect.ReasonClock:          "Pending before its time",
		inspect.ReasonMoved:          "Its queue is closed",
		inspect.ReasonPaused:         "Its queue is paused",
		inspect.ReasonKindPaused:     "Its kind is paused",
		inspect.ReasonNoWorker:       "No worker takes it",
		inspect.ReasonUnknownVersion: "No worker knows its version",
		inspect.ReasonRefused:        "The database refuses it",
		inspect.ReasonLimit:          "Its limit has no room",
		inspect.ReasonSlots:          "Every slot is taken",
		inspect.ReasonAhead:          "Other jobs come first",
		inspect.ReasonSoon:           "About to run",
		inspect.ReasonOwed:           "Its schedule waits for it",
	}
}

// Title returns the finding in a few words.
func (r reason) Title() string { return reasonTitles()[r.Reason] }

var (
	moments   = regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)
	durations = regexp.MustCompile(`\b(in|of|for) ((?:\d+h)?(?:\d+m)?\d+(?:\.\d+)?s)\b`)
)

// Sentence returns the finding as a sentence, with times and durations in the form of the pages.
func (r reason) Sentence() string {
	text := moments.ReplaceAllStringFunc(r.Text, func(found string) string {
		at, err := time.Parse(time.RFC3339, found)
		if err != nil {
			return found // not a time, such as a part of a name
		}
		return at.UTC().Format("2 Jan 2006, 15:04:05 UTC")
	})
	text = durations.ReplaceAllStringFunc(text, func(found string) string {
		word, length, _ := strings.Cut(found, " ")
		d, err := time.ParseDuration(length)
		if err != nil {
			return found
		}
		return word + " " + inUnits(d)
	})
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:] + "."
}
