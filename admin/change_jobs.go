package admin

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/jobs"
)

// jobAction is a change of one job or of many, with its texts.
type jobAction struct {
	Name         string // in forms
	Title        string // on buttons
	Done         string // in messages: "retried"
	Irreversible bool   // the user must confirm it
	from         []jobs.Status
	one, many    func(*Handler, *http.Request) (answer, error) // the routes of the API
}

func jobActions() []jobAction {
	return []jobAction{
		{"retry", "Retry", "retried", false, retryable(), (*Handler).retryJob, (*Handler).retryMany},
		{"run", "Run now", "due now", false, []jobs.Status{jobs.StatusScheduled}, (*Handler).retryJob, (*Handler).retryMany},
		{"cancel", "Cancel", "cancelled", false, cancellable(), (*Handler).cancelJob, (*Handler).cancelMany},
		{"stop", "Stop", "stopped", false, []jobs.Status{jobs.StatusRunning}, (*Handler).cancelJob, (*Handler).cancelMany},
		{"delete", "Delete", "deleted", true, deletable(), (*Handler).deleteJob, (*Handler).deleteMany},
	}
}

// jobActionsFor returns the actions for jobs with a status. An empty status means any.
func jobActionsFor(s jobs.Status) []jobAction {
	var list []jobAction
	for _, c := range jobActions() {
		switch {
		case s == "" && c.Name == "retry":
			c.Title = "Run now" // scheduled jobs too
		case s == "" && (c.Name == "run" || c.Name == "stop"):
			continue
		case s == jobs.StatusScheduled && c.Name == "retry", s == jobs.StatusRunning && c.Name == "cancel":
			continue // another action has the same title
		case s != "" && !slices.Contains(c.from, s):
			continue
		}
		list = append(list, c)
	}
	return list
}

// Of returns the action on some jobs as text: "Retry 3 jobs" or "Run 3 jobs now".
func (c jobAction) Of(which string) string {
	verb, adverb, now := strings.Cut(c.Title, " ")
	if now {
		return verb + " " + which + " " + adverb
	}
	return verb + " " + which
}

// Main reports whether the page of a job emphasizes the action.
func (c jobAction) Main() bool { return c.Name == "retry" || c.Name == "run" }

// stops reports whether the action also ends running jobs.
func (c jobAction) stops() bool { return c.Name == "cancel" || c.Name == "stop" }

// changeJobs changes the ticked jobs of a list, or all jobs that the filter of the list selects. The value of the button has the action
// and the choice: "retry picked" or "delete all".
func (h *Handler) changeJobs(_ http.ResponseWriter, r *http.Request) (*view, flash, error) {
	form := r.PostForm
	name, which, _ := strings.Cut(form.Get("do"), " ")
	i := slices.IndexFunc(jobActions(), func(c jobAction) bool { return c.Name == name })
	if i < 0 || which != "picked" && which != "all" {
		return nil, flash{}, &jobs.InvalidError{Field: "do", Value: fmt.Sprintf("%.40q", form.Get("do")), Must: "be the value of a button of the page"}
	}
	c := jobActions()[i]
	if which == "all" {
		if form.Get("sure") == "" {
			v, err := h.confirmAll(r, c)
			return v, flash{}, err
		}
		body := map[string]any{}
		for _, name := range bulkFields() {
			if value := form.Get(name); value != "" {
				body[name] = value
			}
		}
		return h.changeAll(r, c, body, "/jobs/change", append(bulkFields(), "do"))
	}
	ids := form["id"]
	switch {
	case len(ids) == 0:
		return nil, flash{Text: "No job is ticked."}, nil
	case len(ids) > maxSelected:
		return nil, flash{}, &jobs.InvalidError{Field: "id", Must: fmt.Sprintf("be at most %d jobs", maxSelected)}
	case c.Irreversible && form.Get("sure") == "":
		v, err := h.confirmPicked(r, c, ids)
		return v, flash{}, err
	}
	message, err := h.changePicked(r, c, ids)
	if c.Irreversible && message.OK && h.back(r) == h.config.Prefix+"/jobs/"+ids[0] { // the page of the job is gone
		form.Set("back", h.config.Prefix+"/jobs")
	}
	return nil, message, err
}

func (h *Handler) changePicked(r *http.Request, c jobAction, ids []string) (flash, error) {
	var changed, asked int // asked counts running jobs whose workers were asked to stop them
	var refusal error      // the first
	for _, id := range ids {
		call, err := apiRequest(r, nil)
		if err != nil {
			return flash{}, err
		}
		call.SetPathValue("id", id)
		switch a, err := c.one(h, call); {
		case err == nil && c.stops() && runs(a):
			asked++
		case err == nil:
			changed++
		case core.OnlyThisJob(err):
			refusal = cmp.Or(refusal, err)
		case changed+asked > 0:
			h.logError(r, "a change of several jobs stopped early", err)
			return flash{Text: fmt.Sprintf("%s %s, then an error occurred: %s.", plural(changed, "job", "jobs"), c.Done, problemOf(err).Detail)}, nil
		default:
			return flash{}, err
		}
	}
	if len(ids) == 1 && refusal == nil {
		if asked > 0 {
			return flash{OK: true, Text: fmt.Sprintf("Job %s runs: its worker was asked to stop it.", ids[0])}, nil
		}
		return flash{OK: true, Text: fmt.Sprintf("Job %s: %s.", ids[0], c.Done)}, nil
	}
	message := flash{OK: changed+asked > 0, Text: plural(changed, "job", "jobs") + " " + c.Done + "."}
	if asked > 0 {
		message.Text += fmt.Sprintf(" %s: the workers were asked to stop them.", plural(asked, "runs", "run"))
	}
	if refusal != nil {
		if len(ids) == 1 {
			return flash{Text: refusal.Error()}, nil
		}
		message.Text += fmt.Sprintf(" %s skipped, for example: %s.", plural(len(ids)-changed-asked, "was", "were"), refusal)
	}
	return message, nil
}

// runs reports whether the job in the answer is running.
func runs(a answer) bool {
	d, ok := a.body.(detail)
	return ok && d.Status == jobs.StatusRunning
}

// bulkFields returns the names of the filter's fields, in the list of jobs and in a bulk change.
func bulkFields() []string { return []string{"status", "kind", "queue", "user_id", "tag", "q"} }

// changeAll changes all jobs that a bulk request selects, until its deadline. If jobs are left, it returns a question whether to
// continue. The form of the question goes to the path to, with these fields, and continues after the last job: a new start would read all
// skipped jobs again.
func (h *Handler) changeAll(r *http.Request, c jobAction, body map[string]any, to string, fields []string) (*view, flash, error) {
	if after := r.PostForm.Get("after"); after != "" {
		last, err := strconv.ParseInt(after, 10, 64)
		if err != nil || last < 1 {
			return nil, flash{}, &jobs.InvalidError{Field: "after", Value: fmt.Sprintf("%.40q", after), Must: "be the value of a button of the page"}
		}
		body["after"] = last
	}
	var total bulkResult
	for until := h.now().Add(bulkTimeout); ; {
		call, err := apiRequest(r, body)
		if err != nil {
			return nil, flash{}, err
		}
		a, err := c.many(h, call)
		if err != nil {
			if total.Changed+total.Refused == 0 {
				return nil, flash{}, err
			}
			h.logError(r, "a bulk change stopped early", err)
			break
		}
		part := a.body.(bulkResult)
		total.add(part)
		total.Next = part.Next
		if total.Next == 0 || h.now().After(until) {
			break
		}
		body["after"] = total.Next
	}
	message := total.message(c, body["status"])
	if total.Next == 0 {
		return nil, message, nil
	}
	r.PostForm.Set("after", strconv.FormatInt(total.Next, 10))
	more := h.confirm(r, question{Text: message.Text + " Continue?", Button: "Continue", Note: "There may be more.", To: to}, append(fields, "after")...)
	more.title = "Continue?"
	return more, flash{}, nil
}

// message returns the result of a change of many jobs with a status as text.
func (b bulkResult) message(c jobAction, status any) flash {
	text := plural(b.Changed, "job", "jobs") + " " + c.Done + "."
	if c.stops() && status == string(jobs.StatusRunning) {
		text = fmt.Sprintf("The workers of %s were asked to stop them.", plural(b.Changed, "job", "jobs"))
	}
	if b.Skipped > 0 {
		text += fmt.Sprintf(" %s skipped, because their status has changed or their unique key is taken.", plural(b.Skipped, "was", "were"))
	}
	if b.Refused > 0 {
		text += fmt.Sprintf(" The database refused %s, for example %s.", plural(b.Refused, "job", "jobs"), b.Refusal)
	}
	return flash{OK: b.Changed > 0 || b.Refused == 0, Text: text}
}

// retryGroup retries the failed jobs of one group of the report, or of one error of the group.
func (h *Handler) retryGroup(_ http.ResponseWriter, r *http.Request) (*view, flash, error) {
	kind := r.PostForm.Get("kind")
	like, err := failedForm(r.PostForm)
	if err == nil && kind == "" {
		err = &jobs.InvalidError{Field: "kind", Must: "be the kind of a group of the report"}
	}
	if err != nil {
		return nil, flash{}, err
	}
	if r.PostForm.Get("sure") == "" {
		v, err := h.confirmGroup(r, kind, like)
		return v, flash{}, err
	}
	body := like.fields()
	body["status"], body["kind"] = jobs.StatusFailed, kind
	return h.changeAll(r, jobActions()[0], body, "/failed/retry", groupFields())
}

// groupFields returns the names of the fields that select jobs in the form of a group.
func groupFields() []string { return []string{"kind", "error", "pattern", "cause"} }

// formTime is the layout of times in forms. They are in UTC.
const formTime = "2006-01-02T15:04:05"

// updateForm changes the fields of a scheduled or pending job that the user has changed in the form, which has the old values in fields
// with the prefix was_. So it keeps the changes of another user. An empty payload means no change.
func (h *Handler) updateForm(_ http.ResponseWriter, r *http.Request) (*view, flash, error) {
	form, body := r.PostForm, map[string]any{}
	for _, name := range []string{"queue", "priority", "max_attempts", "run_after"} {
		text := strings.TrimSpace(form.Get(name))
		if isUnchanged(name, text, form.Get("was_"+name)) {
			continue
		}
		value, err := formValue(name, text)
		if err != nil {
			return nil, flash{}, err
		}
		body[name] = value
	}
	if text := strings.TrimSpace(form.Get("payload")); text != "" {
		if err := jobs.ValidatePayload(json.RawMessage(text)); err != nil {
			return nil, flash{}, err
		}
		body["payload"] = json.RawMessage(text)
	}
	if len(body) == 0 {
		return nil, flash{Text: "Nothing to change is given."}, nil
	}
	call, err := apiRequest(r, body)
	if err != nil {
		return nil, flash{}, err
	}
	call.SetPathValue("id", form.Get("id"))
	_, err = h.updateJob(call)
	return nil, flash{OK: true, Text: fmt.Sprintf("Job %s: changed.", form.Get("id"))}, err
}

// isUnchanged reports whether a field has the value that the form showed. Browsers omit the seconds of a time if they are 0.
func isUnchanged(name, text, was string) bool {
	if name != "run_after" || text == was {
		return text == was
	}
	at, err := formValue(name, text)
	before, wasErr := formValue(name, was)
	return err == nil && wasErr == nil && at.(time.Time).Equal(before.(time.Time))
}

// formValue returns the value of a field of the form of a job in the form of the API.
func formValue(name, text string) (any, error) {
	switch name {
	case "queue":
		return text, nil
	case "run_after":
		for _, layout := range []string{formTime, "2006-01-02T15:04", time.RFC3339} {
			if at, err := time.Parse(layout, text); err == nil {
				return at, nil
			}
		}
		return nil, &jobs.InvalidError{Field: name, Value: fmt.Sprintf("%.40q", text), Must: "be a time such as 2026-11-22T09:00:00, in UTC"}
	default:
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil {
			return nil, &jobs.InvalidError{Field: name, Value: fmt.Sprintf("%.40q", text), Must: fmt.Sprintf("be a whole number from %d to %d", math.MinInt32, math.MaxInt32)}
		}
		return n, nil
	}
}
