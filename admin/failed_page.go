package admin

import (
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// failedView is the failed-job report, or one group of it.
type failedView struct {
	listFilter
	Groups []failedGroupView
	Jobs   int64 // the number of jobs in all groups
	Older  bool  // older failed jobs may exist, which are in no group
	All    int64 // the number of failed jobs, of one kind if the report has one
	More   bool  // more groups may exist
	Kinds  []string
}

// failedGroupView is a group of the report with the errors that the page shows.
type failedGroupView struct {
	boundedGroup
	Open bool // the page shows all errors of the group
}

func (h *Handler) failedPage(r *http.Request) (view, error) {
	q := queryOf(r, "kind", "group")
	kind, group := q.text("kind"), q.text("group")
	if q.fault != nil {
		return view{}, q.fault
	}
	report, err := h.inspector.FailedReport(r.Context(), inspect.FailedFilter{Kind: kind, Limit: maxPageSize})
	if err != nil {
		return view{}, err
	}
	counts, err := h.inspector.Counts(r.Context())
	if err != nil {
		return view{}, err
	}
	v := failedView{
		listFilter: listFilterOf(r), Jobs: report.Jobs, Older: report.Older, All: max(report.Jobs, total(counts, jobs.StatusFailed, "", kind)),
		More: len(report.Groups) == maxPageSize, Kinds: failedKinds(counts),
	}
	if group == "" {
		for _, g := range boundReport(report).Groups {
			v.Groups = append(v.Groups, failedGroupView{boundedGroup: g})
		}
		return view{"failed", "Failed", v}, nil
	}
	for _, g := range report.Groups {
		if key(g.Kind, string(g.Cause), g.Pattern) == group {
			v.Groups, v.More = []failedGroupView{{boundedGroup{FailedGroup: g}, true}}, false
		}
	}
	return view{"failed", "Failed", v}, nil
}

// failedKinds returns the first kinds that have failed jobs, sorted.
func failedKinds(counts []inspect.Count) []string {
	var list []string
	for _, n := range counts {
		if n.Status == jobs.StatusFailed && n.Jobs > 0 {
			list = append(list, n.Kind)
		}
	}
	slices.Sort(list)
	list = slices.Compact(list)
	return list[:min(len(list), maxPageSize)]
}

// Key returns the name of the group in URLs and in ids of elements.
func (g failedGroupView) Key() string { return key(g.Kind, string(g.Cause), g.Pattern) }

// Title returns the only error of the group, or the pattern of its errors.
func (g failedGroupView) Title() string {
	if g.Errors() == 1 {
		return g.Error
	}
	return g.Pattern
}

// Errors returns the number of different errors of the group.
func (g failedGroupView) Errors() int { return len(g.Texts) + g.MoreTexts }

// Unfolds reports whether the group has more than its title and its example.
func (g failedGroupView) Unfolds() bool { return g.Open || g.Errors() > 1 }

// Find returns the text with which the search of the list of jobs finds an error, or "" if no search can.
func (v failedView) Find(text string) string {
	const most = 200
	if utf8.RuneCountInString(text) > most || strings.ContainsFunc(text, unicode.IsControl) {
		return ""
	}
	return text
}

// failedForm returns the selection of the form of a group, or of one error of the group.
func failedForm(form map[string][]string) (f failedLike, err error) {
	for _, field := range []struct {
		name string
		to   **string
	}{{"error", &f.Error}, {"pattern", &f.Pattern}} {
		values := form[field.name]
		if len(values) == 0 {
			continue
		}
		text, err := decodeText(values[0])
		if err != nil {
			return f, &jobs.InvalidError{Field: field.name, Must: "be given, with the kind of its group"}
		}
		*field.to = &text
	}
	if values := form["cause"]; len(values) > 0 {
		f.Cause = new(jobs.Cause(values[0]))
	}
	if f.Error == nil && f.Pattern == nil {
		return f, &jobs.InvalidError{Field: "pattern", Must: "be given, with the kind of its group"}
	}
	return f, nil
}
