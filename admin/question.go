package admin

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// maxNamed is the maximum number of jobs that a question names.
const maxNamed = 10

// question asks the user to confirm a change.
type question struct {
	Text   string
	Button string
	Note   string
	Jobs   []jobs.Job // the first jobs of the change
	More   bool       // the change has other jobs too
	To     string     // the path of the form that confirms the change, after the handler's prefix
	Fields url.Values // the fields of the form
	Danger bool       // the change cannot be undone
	Back   string
}

// confirmPicked asks the user to confirm a change of the ticked jobs.
func (h *Handler) confirmPicked(r *http.Request, c jobAction, ids []string) (*view, error) {
	q := question{
		Text: c.Of(plural(len(ids), "job", "jobs")) + "?", Button: c.Title, Note: "This cannot be undone.", To: "/jobs/change",
		More: len(ids) > maxNamed, Danger: c.Irreversible,
	}
	for _, text := range ids[:min(len(ids), maxNamed)] {
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, &jobs.InvalidError{Field: "id", Value: fmt.Sprintf("%.40q", text), Must: fmt.Sprintf("be a whole number from 1 to %d", math.MaxInt64)}
		}
		job, err := h.client.Get(r.Context(), id)
		switch {
		case err == nil:
			q.Jobs = append(q.Jobs, job)
		case !errors.Is(err, jobs.ErrNotFound): // the change skips a deleted job
			return nil, err
		}
	}
	return h.confirm(r, q, "do", "id"), nil
}

// confirmAll asks the user to confirm a change of all jobs that a filter selects.
func (h *Handler) confirmAll(r *http.Request, c jobAction) (*view, error) {
	form := r.PostForm
	status := jobs.Status(form.Get("status"))
	if !slices.Contains(c.from, status) {
		return nil, &jobs.InvalidError{Field: "status", Value: fmt.Sprintf("%.40q", status), Must: fmt.Sprintf("be one of %q", c.from)}
	}
	page, err := h.inspector.ListPage(r.Context(), inspect.Filter{
		Status: status, Kind: form.Get("kind"), Queue: form.Get("queue"), UserID: form.Get("user_id"), Tag: form.Get("tag"), Text: form.Get("q"), Limit: maxNamed,
	})
	if err != nil {
		return nil, err
	}
	which := fmt.Sprintf("all %s jobs", status)
	if form.Get("user_id") == "" && form.Get("tag") == "" && form.Get("q") == "" { // otherwise no count exists
		counts, err := h.inspector.Counts(r.Context())
		if err != nil {
			return nil, err
		}
		which = plural(total(counts, status, form.Get("queue"), form.Get("kind")), fmt.Sprintf("%s job", status), fmt.Sprintf("%s jobs", status))
	}
	q := question{Text: c.Of(which), Button: c.Of("them all"), To: "/jobs/change", Jobs: page.Jobs, More: page.Next != 0, Danger: c.Irreversible}
	for _, field := range []struct{ name, text string }{
		{"kind", "of the kind"}, {"queue", "in the queue"}, {"user_id", "of the user"}, {"tag", "with the tag"}, {"q", "with the text"},
	} {
		if value := form.Get(field.name); value != "" {
			q.Text += fmt.Sprintf(", %s %s", field.text, value)
		}
	}
	q.Text += "?"
	q.Note = "This includes jobs on other pages, and jobs that match by then."
	if c.Irreversible {
		q.Note += " It cannot be undone."
	}
	return h.confirm(r, q, append(bulkFields(), "do")...), nil
}

// confirmGroup asks the user to confirm a retry of the failed jobs of one group of the report.
func (h *Handler) confirmGroup(r *http.Request, kind string, like failedLike) (*view, error) {
	report, err := h.inspector.FailedReport(r.Context(), inspect.FailedFilter{Kind: kind, Limit: maxPageSize})
	if err != nil {
		return nil, err
	}
	page, err := h.inspector.ListPage(r.Context(), inspect.Filter{Status: jobs.StatusFailed, Kind: kind, Limit: maxPageSize})
	if err != nil {
		return nil, err
	}
	q := question{Text: "Retry the failed jobs", Button: "Retry them all", To: "/failed/retry", More: page.Next != 0}
	for i, job := range page.Jobs {
		if len(q.Jobs) > maxNamed {
			break
		}
		switch selected, err := like.selects(r.Context(), h.inspector, job); {
		case err != nil:
			return nil, err
		case selected:
			q.Jobs = append(q.Jobs, page.Jobs[i])
		}
	}
	if len(q.Jobs) > maxNamed {
		q.More, q.Jobs = true, q.Jobs[:maxNamed]
	}
	if n := like.count(report); n > 0 && !report.Older { // otherwise the report has not counted all of them
		q.Text = "Retry " + plural(n, "failed job", "failed jobs")
	}
	q.Text += fmt.Sprintf(", of the kind %s?", kind)
	text, what := like.Error, "Their error"
	if text == nil {
		text, what = like.Pattern, "Their errors, with # for numbers and ids"
	}
	q.Note = fmt.Sprintf("This includes jobs that fail so by then. %s: %s", what, clip(*text, maxFlashLength))
	return h.confirm(r, q, groupFields()...), nil
}

// count returns the number of jobs of the group in a report.
func (f failedLike) count(report inspect.FailedReport) (n int64) {
	for _, g := range report.Groups {
		if f.Pattern != nil && g.Pattern != *f.Pattern || f.Cause != nil && g.Cause != *f.Cause {
			continue
		}
		for _, text := range g.Texts {
			if f.Error == nil || text.Error == *f.Error {
				n += text.Jobs
			}
		}
	}
	return n
}

// confirm returns the page of a question. The form of the page sends the fields again, with the confirmation.
func (h *Handler) confirm(r *http.Request, q question, fields ...string) *view {
	q.Text, q.Note, q.Back = withoutBidi(q.Text), withoutBidi(q.Note), h.back(r)
	q.Fields = url.Values{"sure": {"yes"}, "back": {q.Back}}
	for _, name := range fields {
		if values := r.PostForm[name]; len(values) > 0 {
			q.Fields[name] = values
		}
	}
	return &view{"question", "Are you sure?", q}
}
