package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/sqluice/sqluice/internal/limitplace"
	"github.com/sqluice/sqluice/internal/newjob"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// limitList is the list of the limits in force.
type limitList struct {
	Limits []jobs.LimitInfo `json:"limits"`
}

// limitChange is the answer to a change of a limit.
type limitChange struct {
	Changed bool `json:"changed"` // false if no limit was deleted

	Unknown []inspect.UnknownName `json:"unknown,omitempty"` // the kind, if nothing knew it
}

func (h *Handler) limits(r *http.Request) (answer, error) {
	if err := noQuery(r); err != nil {
		return answer{}, err
	}
	list, err := h.client.Limits(r.Context())
	return answer{body: limitList{list}}, err
}

func (h *Handler) limitKeys(r *http.Request) (answer, error) {
	q := queryOf(r, "kind", "from", "limit")
	filter := inspect.LimitKeyFilter{Kind: q.text("kind"), From: q.text("from"), Limit: q.limit()}
	if q.fault != nil {
		return answer{}, q.fault
	}
	page, err := h.inspector.LimitKeys(r.Context(), filter)
	return answer{body: page}, limitFault(err)
}

// checkPlace refuses a queue with a kind, and all jobs of a kind with a key.
func checkPlace(p limitplace.Place) error {
	switch {
	case p.Queue != "" && (p.Kind != "" || p.Key != "" || p.Total):
		return &jobs.InvalidError{Field: "queue", Value: strconv.Quote(p.Queue), Must: "not be given with kind, key or total"}
	case p.Total && p.Key != "":
		return &jobs.InvalidError{Field: "total", Value: "true", Must: "not be given with key"}
	}
	return nil
}

// set sets the limit of a place.
func (h *Handler) set(ctx context.Context, p limitplace.Place, v jobs.LimitValues) error {
	if err := checkPlace(p); err != nil {
		return err
	}
	return p.Set(ctx, h.client, v)
}

// remove deletes the limit of a place.
func (h *Handler) remove(ctx context.Context, p limitplace.Place) (bool, error) {
	if err := checkPlace(p); err != nil {
		return false, err
	}
	return p.Delete(ctx, h.client)
}

// limitRequest is the body of a request that sets a limit.
type limitRequest struct {
	limitplace.Place
	Running int             `json:"running"`
	Rate    json.RawMessage `json:"rate"`
	Burst   int             `json:"burst"`
	Weight  int             `json:"weight"`
	Depth   int             `json:"depth"`
	OnFull  jobs.OnFull     `json:"on_full"`
	Ordered bool            `json:"ordered"`
	OnFail  jobs.OnFail     `json:"on_fail"`
}

// values returns the bounds.
func (q limitRequest) values() (jobs.LimitValues, error) {
	v := jobs.LimitValues{Running: q.Running, Burst: q.Burst, Weight: q.Weight, Depth: q.Depth, OnFull: q.OnFull, Ordered: q.Ordered, OnFail: q.OnFail}
	if q.Rate == nil {
		return v, nil
	}
	var rate struct {
		Starts int           `json:"starts"`
		Period time.Duration `json:"period_ns"`
	}
	err := newjob.Decode(bytes.NewReader(q.Rate), "rate", &rate)
	v.Rate = jobs.Per(rate.Starts, rate.Period)
	return v, err
}

func (h *Handler) setLimit(r *http.Request) (answer, error) {
	var q limitRequest
	if err := decode(r, &q); err != nil {
		return answer{}, err
	}
	v, err := q.values()
	if err != nil {
		return answer{}, err
	}
	unknown, err := h.inspector.UnknownNames(r.Context(), []string{q.Kind}, []string{q.Queue})
	if err == nil {
		err = h.set(r.Context(), q.Place, v)
	}
	return answer{body: limitChange{true, unknown}}, limitFault(err)
}

func (h *Handler) deleteLimit(r *http.Request) (answer, error) {
	q := queryOf(r, "kind", "key", "queue", "total")
	place := limitplace.Place{Kind: q.text("kind"), Key: q.text("key"), Queue: q.text("queue"), Total: q.text("total") == "true"}
	if text := q.text("total"); q.values.Has("total") && text != "true" && text != "false" {
		q.fail(&jobs.InvalidError{Field: "total", Value: fmt.Sprintf("%.40q", text), Must: "be true or false"})
	}
	if q.fault != nil {
		return answer{}, q.fault
	}
	if err := emptyBody(r); err != nil {
		return answer{}, err
	}
	deleted, err := h.remove(r.Context(), place)
	return answer{body: limitChange{Changed: deleted}}, limitFault(err)
}

func (h *Handler) resumeSequence(r *http.Request) (answer, error) {
	var q struct {
		Kind string `json:"kind"`
		Key  string `json:"key"`
	}
	if err := decode(r, &q); err != nil {
		return answer{}, err
	}
	resumed, err := h.client.ResumeSequence(r.Context(), q.Kind, q.Key)
	return answer{body: limitChange{Changed: resumed}}, limitFault(err)
}

// limitFault names the invalid field of a limit as the contract does.
func limitFault(err error) error {
	invalid := (*jobs.InvalidError)(nil)
	if !errors.As(err, &invalid) {
		return err
	}
	names := map[string]string{
		"limit key": "key", "first key": "from", "running of the limit": "running", "starts of the rate": "rate.starts", "period of the rate": "rate.period_ns",
		"burst of the limit": "burst", "weight of the limit": "weight", "limit": "running", "depth of the limit": "depth", "on-full of the limit": "on_full", "order of the limit": "ordered", "on-fail of the limit": "on_fail",
	}
	field, known := names[invalid.Field]
	if !known {
		return err
	}
	return invalidProblem(err, fault{field, invalid.Value, invalid.Must})
}
