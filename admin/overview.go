package admin

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

func (h *Handler) failed(r *http.Request) (answer, error) {
	q := queryOf(r, "kind", "since", "limit")
	filter := inspect.FailedFilter{Kind: q.text("kind"), Since: q.time("since"), Limit: q.limit()}
	if q.fault != nil {
		return answer{}, q.fault
	}
	report, err := h.inspector.FailedReport(r.Context(), filter)
	return answer{body: boundReport(report)}, err
}

// maxTexts is the maximum number of errors of a group of the failed-job report in an answer or a page.
const maxTexts = 10

// boundedReport is the failed-job report with the most frequent errors of each group.
type boundedReport struct {
	Groups []boundedGroup `json:"groups"`
	Jobs   int64          `json:"jobs"`
	Older  bool           `json:"older"`
}

type boundedGroup struct {
	inspect.FailedGroup
	MoreTexts int `json:"more_texts,omitempty"` // the number of other errors
}

func boundReport(r inspect.FailedReport) boundedReport {
	bounded := boundedReport{make([]boundedGroup, len(r.Groups)), r.Jobs, r.Older}
	for i, g := range r.Groups {
		shown := g.Texts[:min(len(g.Texts), maxTexts)]
		bounded.Groups[i] = boundedGroup{g, len(g.Texts) - len(shown)}
		bounded.Groups[i].Texts = shown
	}
	return bounded
}

func (h *Handler) stats(r *http.Request) (answer, error) {
	if err := noQuery(r); err != nil {
		return answer{}, err
	}
	stats, err := h.inspector.Stats(r.Context())
	if err != nil {
		return answer{}, err
	}
	list := stats.Unhandled
	stats.Unhandled = mostUnhandled(list, maxPageSize)
	return answer{body: boundedStats{stats, len(list) - len(stats.Unhandled)}}, nil
}

// boundedStats is the statistics. Of many pairs of a queue and a kind without a worker it has those with the most jobs.
type boundedStats struct {
	inspect.Stats
	More int `json:"unhandled_more,omitempty"` // the number of other pairs without a worker
}

// mostUnhandled returns the pairs of a queue and a kind without a worker, those with the most jobs.
func mostUnhandled(list []inspect.UnhandledWork, most int) []inspect.UnhandledWork {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b inspect.UnhandledWork) int { return cmp.Compare(b.Jobs, a.Jobs) })
	return list[:min(len(list), most)]
}

// queuePage is a page of the queues.
type queuePage struct {
	Queues []inspect.QueueInfo `json:"queues"`
	Next   string              `json:"next,omitempty"` // the parameter after of the next page; empty if this is the last one
}

func (h *Handler) queues(r *http.Request) (answer, error) {
	q := queryOf(r, "after", "limit")
	limit := q.limit()
	if q.fault != nil {
		return answer{}, q.fault
	}
	page, err := h.queuesAfter(r.Context(), q.text("after"), limit)
	return answer{body: page}, err
}

// queuesAfter returns at most limit queues whose names follow a name.
func (h *Handler) queuesAfter(ctx context.Context, after string, limit int) (queuePage, error) {
	list, err := h.inspector.Queues(ctx)
	if err != nil {
		return queuePage{}, err
	}
	if after != "" {
		i, found := slices.BinarySearchFunc(list, after, func(q inspect.QueueInfo, name string) int { return strings.Compare(q.Name, name) })
		if found {
			i++
		}
		list = list[i:]
	}
	page := queuePage{Queues: list}
	if len(list) > limit {
		page = queuePage{list[:limit], list[limit-1].Name}
	}
	return page, nil
}

// pausing is the answer to a pause or a resume.
type pausing struct {
	Queue   string `json:"queue"`
	Kind    string `json:"kind,omitempty"` // empty for the whole queue
	Paused  bool   `json:"paused"`
	Changed bool   `json:"changed"` // false if the queue or the kind was already in this state

	Unknown []inspect.UnknownName `json:"unknown,omitempty"` // the queue or the kind, if the database does not know the name
}

// pauseQueue pauses a queue, or one kind in it, optionally for a time and with a reason.
func (h *Handler) pauseQueue(r *http.Request) (answer, error) {
	q := queryOf(r, "kind", "for_s", "reason")
	until, reason := jobs.PauseFor(q.seconds("for_s")), jobs.PauseReason(q.text("reason"))
	return h.setQueue(r, q, pausing{Paused: true}, func(ctx context.Context, p pausing) (bool, error) {
		if p.Kind != "" {
			return h.client.PauseKind(ctx, p.Queue, p.Kind, until, reason)
		}
		return h.client.PauseQueue(ctx, p.Queue, until, reason)
	})
}

// resumeQueue resumes a queue, or one kind in it.
func (h *Handler) resumeQueue(r *http.Request) (answer, error) {
	return h.setQueue(r, queryOf(r, "kind"), pausing{}, func(ctx context.Context, p pausing) (bool, error) {
		if p.Kind != "" {
			return h.client.ResumeKind(ctx, p.Queue, p.Kind)
		}
		return h.client.ResumeQueue(ctx, p.Queue)
	})
}

// setQueue changes the queue of the path, or only the kind of the query in it. It refuses an empty kind, which must not mean the whole
// queue.
func (h *Handler) setQueue(r *http.Request, q *parameters, p pausing, set func(context.Context, pausing) (bool, error)) (answer, error) {
	if q.values.Has("kind") {
		if err := jobs.ValidateName("kind", q.text("kind")); err != nil {
			q.fail(err)
		}
	}
	if q.fault != nil {
		return answer{}, q.fault
	}
	if err := emptyBody(r); err != nil {
		return answer{}, err
	}
	var err error
	p.Queue, p.Kind = pathName(r), q.text("kind")
	if p.Unknown, err = h.inspector.UnknownNames(r.Context(), []string{p.Kind}, []string{p.Queue}); err != nil {
		return answer{}, err
	}
	p.Changed, err = set(r.Context(), p)
	return answer{body: p}, err
}

// history answers with the outcomes of jobs in steps of time.
func (h *Handler) history(r *http.Request) (answer, error) {
	q := queryOf(r, "queue", "kind", "since", "until", "step_s")
	filter := inspect.HistoryFilter{
		Queue: q.text("queue"), Kind: q.text("kind"), Since: q.time("since"), Until: q.time("until"), Step: q.seconds("step_s"),
	}
	if q.fault != nil {
		return answer{}, q.fault
	}
	history, err := h.inspector.History(r.Context(), filter)
	return answer{body: history}, err
}

// maxSeconds is the largest number of seconds of a parameter: about 68 years.
const maxSeconds = math.MaxInt32

// seconds returns a number of seconds, or 0 if the parameter is missing.
func (p *parameters) seconds(name string) time.Duration {
	text := p.text(name)
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 || n > maxSeconds {
		p.fail(&jobs.InvalidError{Field: name, Value: fmt.Sprintf("%.40q", text), Must: fmt.Sprintf("be a whole number of seconds from 1 to %d", maxSeconds)})
	}
	return time.Duration(n) * time.Second
}

func (h *Handler) workers(r *http.Request) (answer, error) {
	if err := noQuery(r); err != nil {
		return answer{}, err
	}
	list, err := h.inspector.Workers(r.Context())
	return answer{body: map[string]any{"workers": list}}, err
}

type health struct {
	Status string `json:"status"`
}

// healthz answers that the server runs.
func (h *Handler) healthz(*http.Request) (answer, error) { return answer{body: health{"ok"}}, nil }

// readyz answers that the database works, or with a problem.
func (h *Handler) readyz(r *http.Request) (answer, error) {
	if err := h.client.CheckSchema(r.Context()); err != nil {
		p := problemOf(err)
		if p.Status == http.StatusInternalServerError {
			p = &problem{Status: http.StatusServiceUnavailable, Code: "unavailable", Detail: "the database cannot be used: the server's log has the error"}
		}
		p.cause = err
		return answer{}, p
	}
	return answer{body: health{"ok"}}, nil
}

func (h *Handler) openAPI(*http.Request) (answer, error) {
	return answer{body: json.RawMessage(h.contract)}, nil
}
