package admin

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/sqluice/sqluice/internal/limitplace"
	"github.com/sqluice/sqluice/internal/ratetext"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// keysPerPage is the number of limit keys on a page.
const keysPerPage = 50

// limitLine is the row of a limit on pages.
type limitLine struct{ jobs.LimitInfo }

// RateText returns the rate and the burst of the limit.
func (l limitLine) RateText() string {
	text := ratetext.Text(l.Rate)
	if l.Burst > 1 {
		text += fmt.Sprintf(", at most %d at one time", l.Burst)
	}
	return text
}

// IsEach reports whether the limit is for each key of a kind by itself.
func (l limitLine) IsEach() bool { return limitplace.Of(l.LimitInfo).IsEach() }

// Name returns the jobs of the limit in words.
func (l limitLine) Name() string {
	switch {
	case l.Queue != "":
		return "the queue " + l.Queue
	case l.Total:
		return "all jobs of the kind " + l.Kind
	case l.Key == "":
		return "each key of the kind " + l.Kind
	}
	return fmt.Sprintf("the key %s of the kind %s", l.Key, l.Kind)
}

// limitKeyLine is the row of a limit key on pages.
type limitKeyLine struct {
	inspect.LimitKeyInfo
	Limit limitLine // of the key: its own, or that of each key of the kind; the zero value if there is none
	State string    // what the next start waits for, as package limitplace names it
}

// limitsView is the page of the limits.
type limitsView struct {
	Lines []limitLine
	More  int    // the number of other limits
	Kind  string // the kind whose keys follow; empty if there is no limit
	Kinds []string
	Keys  []limitKeyLine
	Next  string // the first key of the next page; empty if this is the last one
	First bool   // the page is the first one
}

func (h *Handler) limitsPage(r *http.Request) (view, error) {
	q := queryOf(r, "kind", "from")
	if q.fault != nil {
		return view{}, q.fault
	}
	list, err := h.client.Limits(r.Context())
	if err != nil {
		return view{}, err
	}
	v := limitsView{Kind: cmp.Or(q.text("kind"), busiestLimit(list)), First: q.text("from") == ""}
	for _, l := range list {
		if l.Kind != "" && !slices.Contains(v.Kinds, l.Kind) {
			v.Kinds = append(v.Kinds, l.Kind)
		}
		if len(v.Lines) < maxPageSize {
			v.Lines = append(v.Lines, limitLine{l})
		}
	}
	v.More = len(list) - len(v.Lines)
	if v.Kind == "" {
		return view{"limits", "Limits", v}, nil
	}
	page, err := h.inspector.LimitKeys(r.Context(), inspect.LimitKeyFilter{Kind: v.Kind, From: q.text("from"), Limit: keysPerPage})
	if err != nil {
		return view{}, limitFault(err)
	}
	v.Next = page.Next
	for _, k := range page.Keys {
		v.Keys = append(v.Keys, limitKeyLine{k, limitOf(list, k), limitplace.WaitsFor(k, h.inspector.Now())})
	}
	return view{"limits", "Limits", v}, nil
}

// busiestLimit returns the kind of the limit with the most waiting jobs.
func busiestLimit(list []jobs.LimitInfo) string {
	var most jobs.LimitInfo
	for _, l := range list {
		if l.Kind != "" && (most.Kind == "" || l.WaitingJobs > most.WaitingJobs) {
			most = l
		}
	}
	return most.Kind
}

// limitOf returns the limit of a key.
func limitOf(list []jobs.LimitInfo, k inspect.LimitKeyInfo) (found limitLine) {
	for _, l := range list {
		if l.Kind != k.Kind || l.Total {
			continue
		}
		if l.Key == k.Key {
			return limitLine{l}
		}
		if l.Key == "" {
			found = limitLine{l}
		}
	}
	return found
}

// limitForm sets or deletes a limit.
func (h *Handler) limitForm(_ http.ResponseWriter, r *http.Request) (*view, flash, error) {
	field := func(name string) string { return strings.TrimSpace(r.PostForm.Get(name)) }
	place := limitplace.Place{Kind: field("kind"), Key: field("key"), Queue: field("queue"), Total: field("total") != ""}
	line := limitLine{jobs.LimitInfo{Kind: place.Kind, Key: place.Key, Queue: place.Queue, Total: place.Total}}
	if field("do") == "delete" {
		found, err := h.remove(r.Context(), place)
		if !found {
			return nil, flash{Text: fmt.Sprintf("No limit was set for %s.", line.Name())}, limitFault(err)
		}
		return nil, flash{OK: true, Text: fmt.Sprintf("The limit for %s is deleted: what programs declare applies again.", line.Name())}, err
	}
	if field("do") == "resume" {
		return h.sequenceForm(r, line)
	}
	for _, number := range []struct {
		name  string
		value *int
	}{{"running", &line.Running}, {"burst", &line.Burst}, {"weight", &line.Weight}, {"depth", &line.Depth}} {
		text := field(number.name)
		if text == "" {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil {
			return nil, flash{}, &jobs.InvalidError{Field: number.name, Value: fmt.Sprintf("%.40q", text), Must: "be a whole number"}
		}
		*number.value = n
	}
	line.OnFail, line.OnFull = jobs.OnFail(field("order")), jobs.OnFull(field("full"))
	line.Ordered = line.OnFail != ""
	if text := field("rate"); text != "" {
		var err error
		if line.Rate, err = ratetext.Parse(text); err != nil {
			return nil, flash{}, &jobs.InvalidError{Field: "rate", Value: fmt.Sprintf("%.40q", text), Must: err.Error()}
		}
	}
	unknown, err := h.inspector.UnknownNames(r.Context(), []string{line.Kind}, []string{line.Queue})
	if err == nil {
		err = h.set(r.Context(), place, line.LimitValues)
	}
	text := fmt.Sprintf("The limit for %s is set.", line.Name())
	for _, name := range unknown {
		text += " " + strings.ToUpper(name.String()[:1]) + name.String()[1:]
	}
	return nil, flash{OK: true, Text: text}, limitFault(err)
}

// sequenceForm lets the jobs of a key go on that a failed one holds.
func (h *Handler) sequenceForm(r *http.Request, line limitLine) (*view, flash, error) {
	resumed, err := h.client.ResumeSequence(r.Context(), line.Kind, line.Key)
	switch {
	case err != nil:
		return nil, flash{}, limitFault(err)
	case !resumed:
		return nil, flash{Text: "No failed job holds the sequence any more."}, nil
	}
	return nil, flash{OK: true, Text: "The sequence goes on with the next job."}, nil
}
