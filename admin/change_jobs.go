package admin

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/sqluice/sqluice/jobs"
)

// question asks whether a change is really meant.
type question struct {
	Text   string
	Button string
	Note   string
	To     string     // where the form that says yes is sent, below the handler's prefix
	Fields url.Values // of that form
	Back   string
}

// changeJobs changes the jobs that are ticked in a list, or all that the list's filter means. The button says which:
// "retry picked", "delete all".
func (h *Handler) changeJobs(_ http.ResponseWriter, r *http.Request) (*view, flash, error) {
	form := r.PostForm
	name, which, _ := strings.Cut(form.Get("do"), " ")
	i := slices.IndexFunc(changes(), func(c deed) bool { return c.Name == name })
	if i < 0 || which != "picked" && which != "all" {
		return nil, flash{}, &jobs.InvalidError{Field: "do", Value: fmt.Sprintf("%.40q", form.Get("do")), Must: "be what a button sends"}
	}
	c := changes()[i]
	if which == "all" {
		if form.Get("sure") == "" {
			return h.askAll(r, c), flash{}, nil
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
	case len(ids) > mostPicked:
		return nil, flash{}, &jobs.InvalidError{Field: "id", Must: fmt.Sprintf("be at most %d jobs", mostPicked)}
	case c.Asks && form.Get("sure") == "":
		return h.ask(r, question{
			Text: fmt.Sprintf("%s %s?", c.Title, plural(len(ids), "job", "jobs")), Button: c.Title, Note: "Nothing brings them back.", To: "/jobs/change",
		}, "do", "id"), flash{}, nil
	}
	said, err := h.changePicked(r, c, ids)
	if c.Asks && said.OK && h.back(r) == h.config.Prefix+"/jobs/"+ids[0] { // which is gone
		form.Set("back", h.config.Prefix+"/jobs")
	}
	return nil, said, err
}

func (h *Handler) changePicked(r *http.Request, c deed, ids []string) (flash, error) {
	var changed int
	var refusal error // the first
	for _, id := range ids {
		call, err := asAPI(r, nil)
		if err != nil {
			return flash{}, err
		}
		call.SetPathValue("id", id)
		switch _, err = c.one(h, call); {
		case err == nil:
			changed++
		case errors.Is(err, jobs.ErrNotFound), errors.Is(err, jobs.ErrStatus), errors.Is(err, jobs.ErrUniqueTaken):
			refusal = cmp.Or(refusal, err)
		case changed > 0: // what is done has to be told
			h.note(r, "a change of several jobs was broken off", err)
			return flash{Text: fmt.Sprintf("%s %s, then it went wrong: %s.", plural(changed, "job", "jobs"), c.Done, problemOf(err).Detail)}, nil
		default:
			return flash{}, err
		}
	}
	if len(ids) == 1 && refusal == nil {
		return flash{OK: true, Text: fmt.Sprintf("Job %s: %s.", ids[0], c.Done)}, nil
	}
	said := flash{OK: changed > 0, Text: plural(changed, "job", "jobs") + " " + c.Done + "."}
	if refusal != nil {
		if len(ids) == 1 {
			return flash{Text: refusal.Error()}, nil
		}
		said.Text += fmt.Sprintf(" %s left alone, for instance: %s.", plural(len(ids)-changed, "was", "were"), refusal)
	}
	return said, nil
}

// bulkFields are what a list of jobs is narrowed by, and a bulk change with it.
func bulkFields() []string { return []string{"status", "kind", "queue", "user_id", "tag", "q"} }

// changeAll changes all jobs that a bulk request means, as far as it comes. If there are more, it answers with a question
// whether to go on, whose form is sent to a path with these fields again and goes on where this one ended: else it would look
// first at all those again that it leaves alone.
func (h *Handler) changeAll(r *http.Request, c deed, body map[string]any, to string, fields []string) (*view, flash, error) {
	if after := r.PostForm.Get("after"); after != "" {
		last, err := strconv.ParseInt(after, 10, 64)
		if err != nil || last < 1 {
			return nil, flash{}, &jobs.InvalidError{Field: "after", Value: fmt.Sprintf("%.40q", after), Must: "be what a button sends"}
		}
		body["after"] = last
	}
	var total bulkResult
	for until := h.now().Add(bulkWithin); ; {
		call, err := asAPI(r, body)
		if err != nil {
			return nil, flash{}, err
		}
		a, err := c.many(h, call)
		if err != nil {
			if total.Changed == 0 {
				return nil, flash{}, err
			}
			h.note(r, "a bulk change was broken off", err)
			break
		}
		part := a.body.(bulkResult)
		total = bulkResult{total.Changed + part.Changed, total.Skipped + part.Skipped, part.Next}
		if total.Next == 0 || h.now().After(until) {
			break
		}
		body["after"] = total.Next
	}
	said := flash{OK: true, Text: plural(total.Changed, "job", "jobs") + " " + c.Done + "."}
	if total.Skipped > 0 {
		said.Text += fmt.Sprintf(" %s left alone, since somebody else has changed them or their unique key is taken.", plural(total.Skipped, "was", "were"))
	}
	if total.Next == 0 {
		return nil, said, nil
	}
	r.PostForm.Set("after", strconv.FormatInt(total.Next, 10))
	more := h.ask(r, question{Text: said.Text + " Go on?", Button: "Go on", Note: "There may be more.", To: to}, append(fields, "after")...)
	more.title = "Go on?"
	return more, flash{}, nil
}

// retryGroup retries the failed jobs of one kind with one error.
func (h *Handler) retryGroup(_ http.ResponseWriter, r *http.Request) (*view, flash, error) {
	var text string
	if err := json.Unmarshal([]byte(r.PostForm.Get("error")), &text); err != nil || r.PostForm.Get("kind") == "" {
		return nil, flash{}, &jobs.InvalidError{Field: "error", Must: "be of a group of the report, as its kind"}
	}
	body := map[string]any{"status": jobs.StatusFailed, "kind": r.PostForm.Get("kind"), "error": text}
	return h.changeAll(r, changes()[0], body, "/failed/retry", []string{"kind", "error"})
}

// askAll asks whether all jobs that a filter means are to be changed.
func (h *Handler) askAll(r *http.Request, c deed) *view {
	q := question{Text: c.Title + " all jobs that are " + r.PostForm.Get("status"), Button: c.Title + " them all", To: "/jobs/change"}
	for _, field := range []struct{ name, text string }{
		{"kind", "of the kind"}, {"queue", "in the queue"}, {"user_id", "of the user"}, {"tag", "with the tag"}, {"q", "with the text"},
	} {
		if value := r.PostForm.Get(field.name); value != "" {
			q.Text += fmt.Sprintf(", %s %s", field.text, value)
		}
	}
	q.Text += "?"
	q.Note = "Those of other pages too, and those that come to match meanwhile."
	if c.Asks {
		q.Note += " Nothing brings them back."
	}
	return h.ask(r, q, append(bulkFields(), "do")...)
}

// ask shows a question, whose form sends these fields again, with a yes.
func (h *Handler) ask(r *http.Request, q question, fields ...string) *view {
	q.Text, q.Back = straight(q.Text), h.back(r)
	q.Fields = url.Values{"sure": {"yes"}, "back": {q.Back}}
	for _, name := range fields {
		if values := r.PostForm[name]; len(values) > 0 {
			q.Fields[name] = values
		}
	}
	return &view{"question", "Are you sure?", q}
}
