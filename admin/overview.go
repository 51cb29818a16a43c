package admin

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/sqluice/sqluice/jobs"
)

func (h *Handler) failed(r *http.Request) (answer, error) {
	q := queryOf(r, "kind", "since", "limit")
	filter := jobs.FailedFilter{Kind: q.text("kind"), Since: q.time("since"), Limit: q.limit()}
	if q.fault != nil {
		return answer{}, q.fault
	}
	groups, err := h.client.FailedReport(r.Context(), filter)
	return answer{body: map[string]any{"groups": groups}}, err
}

func (h *Handler) stats(r *http.Request) (answer, error) {
	if err := noQuery(r); err != nil {
		return answer{}, err
	}
	stats, err := h.client.Stats(r.Context())
	return answer{body: stats}, err
}

func (h *Handler) queues(r *http.Request) (answer, error) {
	if err := noQuery(r); err != nil {
		return answer{}, err
	}
	list, err := h.client.Queues(r.Context())
	return answer{body: map[string]any{"queues": list}}, err
}

// pausing is the answer to a pause or a resumption.
type pausing struct {
	Queue   string `json:"queue"`
	Paused  bool   `json:"paused"`
	Changed bool   `json:"changed"` // it was not so before
}

func (h *Handler) pauseQueue(r *http.Request) (answer, error) {
	return h.setQueue(r, true, h.client.PauseQueue)
}

func (h *Handler) resumeQueue(r *http.Request) (answer, error) {
	return h.setQueue(r, false, h.client.ResumeQueue)
}

func (h *Handler) setQueue(r *http.Request, paused bool, set func(context.Context, string) (bool, error)) (answer, error) {
	if err := noBody(r); err != nil {
		return answer{}, err
	}
	name := r.PathValue("name")
	changed, err := set(r.Context(), name)
	return answer{body: pausing{name, paused, changed}}, err
}

func (h *Handler) workers(r *http.Request) (answer, error) {
	if err := noQuery(r); err != nil {
		return answer{}, err
	}
	list, err := h.client.Workers(r.Context())
	return answer{body: map[string]any{"workers": list}}, err
}

type health struct {
	Status string `json:"status"`
}

// healthz tells that the server answers.
func (h *Handler) healthz(*http.Request) (answer, error) { return answer{body: health{"ok"}}, nil }

// readyz tells that the database can be used.
func (h *Handler) readyz(r *http.Request) (answer, error) {
	if err := h.client.CheckSchema(r.Context()); err != nil {
		p := problemOf(err)
		if p.Status == http.StatusInternalServerError {
			p = &problem{Status: http.StatusServiceUnavailable, Code: "unavailable", Detail: "the database cannot be used; the log of the server says why"}
		}
		p.cause = err
		return answer{}, p
	}
	return answer{body: health{"ok"}}, nil
}

func (h *Handler) openAPI(*http.Request) (answer, error) {
	return answer{body: json.RawMessage(h.contract)}, nil
}
