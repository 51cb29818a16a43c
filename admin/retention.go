package admin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// ruleList is the list of the rules of retention.
type ruleList struct {
	Rules []inspect.RetentionRule `json:"rules"`
}

// ruleChange is the answer to a change of a rule.
type ruleChange struct {
	Changed bool `json:"changed"` // false if the rule was the same already
}

func (h *Handler) retention(r *http.Request) (answer, error) {
	if err := noQuery(r); err != nil {
		return answer{}, err
	}
	rules, err := h.inspector.Retentions(r.Context())
	return answer{body: ruleList{rules}}, err
}

// ruleRequest is the body of a request that sets a rule.
type ruleRequest struct {
	Queue  string         `json:"queue"`
	Kind   string         `json:"kind"`
	Status jobs.Status    `json:"status"`
	Keep   *time.Duration `json:"keep_ns"`
}

func (h *Handler) setRetention(r *http.Request) (answer, error) {
	var q ruleRequest
	err := decode(r, &q)
	if err == nil && q.Keep == nil {
		err = &jobs.InvalidError{Field: "keep_ns", Must: "be given"}
	}
	if err != nil {
		return answer{}, err
	}
	changed, err := h.inspector.SetRetention(r.Context(), inspect.RetentionRule{Queue: q.Queue, Kind: q.Kind, Status: q.Status, Keep: *q.Keep})
	if invalid := (*jobs.InvalidError)(nil); errors.As(err, &invalid) && invalid.Field == "keep" {
		err = &jobs.InvalidError{Field: "keep_ns", Value: fmt.Sprint(int64(*q.Keep)), Must: invalid.Must + " (-1)"}
	}
	return answer{body: ruleChange{changed}}, err
}

func (h *Handler) removeRetention(r *http.Request) (answer, error) {
	q := queryOf(r, "queue", "kind", "status")
	if q.fault != nil {
		return answer{}, q.fault
	}
	if err := emptyBody(r); err != nil {
		return answer{}, err
	}
	rule := inspect.RetentionRule{Queue: q.text("queue"), Kind: q.text("kind"), Status: jobs.Status(q.text("status"))}
	changed, err := h.inspector.RemoveRetention(r.Context(), rule)
	return answer{body: ruleChange{changed}}, err
}

// ruleLine is the row of a rule on pages.
type ruleLine struct{ inspect.RetentionRule }

// KeepText returns the time that jobs are kept, in words.
func (l ruleLine) KeepText() string {
	switch days := l.Keep / (24 * time.Hour); {
	case l.Keep == jobs.Forever:
		return "for ever"
	case days > 0 && l.Keep%(24*time.Hour) == 0:
		return plural(int(days), "day", "days")
	}
	return l.Keep.String()
}

func (h *Handler) ruleLines(ctx context.Context) (lines []ruleLine, err error) {
	rules, err := h.inspector.Retentions(ctx)
	for _, rule := range rules[:min(len(rules), maxPageSize)] {
		lines = append(lines, ruleLine{rule})
	}
	return lines, err
}

// retentionForm sets a rule, or removes it.
func (h *Handler) retentionForm(_ http.ResponseWriter, r *http.Request) (*view, flash, error) {
	field := func(name string) string { return strings.TrimSpace(r.PostForm.Get(name)) }
	rule := inspect.RetentionRule{Queue: field("queue"), Kind: field("kind"), Status: jobs.Status(field("status"))}
	if field("do") == "remove" {
		found, err := h.inspector.RemoveRetention(r.Context(), rule)
		if !found {
			return nil, flash{Text: fmt.Sprintf("There is no rule for %s.", rule)}, err
		}
		return nil, flash{OK: true, Text: fmt.Sprintf("The rule for %s is removed.", rule)}, err
	}
	days, err := strconv.ParseFloat(field("days"), 64)
	switch rule.Keep = jobs.Forever; {
	case field("days") == "":
	case err != nil || !(days > 0 && days <= 36500): // NaN fails both comparisons
		return nil, flash{}, &jobs.InvalidError{Field: "days", Value: strconv.Quote(field("days")), Must: "be a number above 0, up to 36500"}
	default:
		rule.Keep = time.Duration(days * float64(24*time.Hour)).Round(time.Second)
	}
	_, err = h.inspector.SetRetention(r.Context(), rule)
	return nil, flash{OK: true, Text: fmt.Sprintf("From now on %s are kept %s.", rule, ruleLine{rule}.KeepText())}, err
}
