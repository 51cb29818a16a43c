package admin

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/sqluice/sqluice/jobs"
)

// problem is an error in the form of an answer: a problem document of RFC 9457.
type problem struct {
	Code   string  `json:"-"` // the end of Type
	Type   string  `json:"type"`
	Title  string  `json:"title"`
	Status int     `json:"status"`
	Detail string  `json:"detail,omitempty"`
	Faults []fault `json:"faults,omitempty"`

	cause error // logged instead of Detail
}

// fault describes an invalid field of a request.
type fault struct {
	Field string `json:"field"`
	Value string `json:"value,omitempty"`
	Must  string `json:"must"`
}

func (p *problem) Error() string { return p.Detail }

// retryAfter is the delay in seconds before a client repeats a request that failed because of a passing state of the database.
const retryAfter = 1

// refuse answers with an error.
func (h *Handler) refuse(w http.ResponseWriter, r *http.Request, err error) {
	p := problemOf(err)
	switch p.Status {
	case http.StatusUnauthorized:
		if h.config.Token != "" { // makes a browser ask for a password: the token
			w.Header().Add("WWW-Authenticate", `Basic realm="sqluice", charset="UTF-8"`)
		}
		w.Header().Add("WWW-Authenticate", `Bearer realm="sqluice"`)
	case http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", strconv.Itoa(retryAfter))
	}
	if p.Status >= http.StatusInternalServerError {
		h.logError(r, "a request failed", cmp.Or(p.cause, err))
	}
	if h.isForPeople(r) {
		h.showProblem(w, r, p)
		return
	}
	h.write(w, r, p.Status, "application/problem+json", p)
}

// logError logs an error that the answer does not show in full, unless the client has disconnected.
func (h *Handler) logError(r *http.Request, what string, err error) {
	if r.Context().Err() == nil {
		h.log.Error(what, "method", r.Method, "path", r.URL.Path, "error", err)
	}
}

// states maps errors of package jobs to HTTP statuses and codes.
func states() []struct {
	err    error
	status int
	code   string
} {
	return []struct {
		err    error
		status int
		code   string
	}{
		{jobs.ErrNotFound, http.StatusNotFound, "no-such-job"},
		{jobs.ErrNoSchedule, http.StatusNotFound, "no-such-schedule"},
		{jobs.ErrScheduleDeclared, http.StatusConflict, "declared-in-code"},
		{jobs.ErrStatus, http.StatusConflict, "status"},
		{jobs.ErrUniqueTaken, http.StatusConflict, "unique-key-taken"},
		{jobs.ErrMoved, http.StatusConflict, "moved"},
		// Before ErrUnavailable, because an error may be both: a client that repeats the request could make the change twice.
		{jobs.ErrUnknownOutcome, http.StatusInternalServerError, "unknown-outcome"},
		{jobs.ErrFull, http.StatusInsufficientStorage, "full"},
		{jobs.ErrBusy, http.StatusServiceUnavailable, "busy"},
		{jobs.ErrUnavailable, http.StatusServiceUnavailable, "unavailable"},
		{jobs.ErrReadOnly, http.StatusServiceUnavailable, "database-read-only"},
		{jobs.ErrClosed, http.StatusServiceUnavailable, "closed"},
		{context.DeadlineExceeded, http.StatusServiceUnavailable, "too-slow"},
		{context.Canceled, http.StatusServiceUnavailable, "cancelled"},
	}
}

// problemOf returns the problem for an error. It only logs the text of an unexpected error, which may name files, hosts and statements.
func problemOf(err error) *problem {
	var p *problem
	if !errors.As(err, &p) {
		p = newProblem(err)
	}
	p.Type, p.Title = "urn:sqluice:problem:"+p.Code, http.StatusText(p.Status)
	return p
}

func newProblem(err error) *problem {
	if invalid := (*jobs.InvalidError)(nil); errors.As(err, &invalid) {
		return invalidProblem(err, fault{fieldName(invalid.Field), invalid.Value, invalid.Must})
	}
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return &problem{Status: http.StatusRequestEntityTooLarge, Code: "too-large",
			Detail: "the body must be at most " + strconv.FormatInt(tooLarge.Limit, 10) + " bytes"}
	}
	if refused := (*jobs.RefusedError)(nil); errors.As(err, &refused) {
		return &problem{Status: http.StatusConflict, Code: "refused", Detail: err.Error()}
	}
	if full := (*jobs.FullError)(nil); errors.As(err, &full) {
		return &problem{Status: http.StatusConflict, Code: "backlog-full", Detail: full.Error()}
	}
	if schema := (*jobs.SchemaError)(nil); errors.As(err, &schema) {
		return &problem{Status: http.StatusServiceUnavailable, Code: "schema", Detail: schema.Error()}
	}
	for _, s := range states() {
		if errors.Is(err, s.err) {
			detail := s.err.Error()
			if s.status < http.StatusInternalServerError && s.err != jobs.ErrMoved { // the text names the other database
				detail = err.Error() // the text names the job
			}
			return &problem{Status: s.status, Code: s.code, Detail: detail}
		}
	}
	return &problem{Status: http.StatusInternalServerError, Code: "internal", Detail: "the server's log has the error"}
}

// invalidProblem returns the problem with a field of a request.
func invalidProblem(err error, f fault) *problem {
	return &problem{Status: http.StatusBadRequest, Code: "invalid", Detail: err.Error(), Faults: []fault{f}}
}

// fieldName returns the name in the contract of a field of package jobs.
func fieldName(field string) string {
	names := map[string]string{
		"run-after time": "run_after", "start-by time": "start_by", "start-within time": "start_within_ns", "max attempts": "max_attempts", "timeout": "timeout_ns", "delay": "delay_ns",
		"unique key": "unique_key", "unique mode": "unique_mode", "debounce time": "debounce_ns",
		"longest debounce": "at_most_ns", "unique period": "unique_for_ns", "request id": "request_id", "limit key": "limit_key", "user id": "user_id", "text": "q", "tag filter": "tag", "tag": "tags",
		"number of tags": "tags", "cursor": "after",
		"schedule name": "name", "specification": "cron", "catch-up": "catch_up",
	}
	if name, ok := names[field]; ok {
		return name
	}
	return field
}

// answer is the answer of a route. Without a body it has only the status.
type answer struct {
	status   int // 0 means 200
	body     any
	location string           // the path of the new job
	stream   http.HandlerFunc // writes the answer, if set
}

func (h *Handler) answer(w http.ResponseWriter, r *http.Request, a answer) {
	if a.location != "" {
		w.Header().Set("Location", h.config.Prefix+base+a.location)
	}
	if a.status == 0 {
		a.status = http.StatusOK
	}
	if a.body == nil {
		w.WriteHeader(a.status)
		return
	}
	h.write(w, r, a.status, "application/json", a.body)
}

func (h *Handler) write(w http.ResponseWriter, r *http.Request, status int, mediaType string, body any) {
	var text bytes.Buffer
	if raw, ok := body.(json.RawMessage); ok {
		text.Write(raw)
	} else if err := json.NewEncoder(&text).Encode(body); err != nil {
		h.refuse(w, r, fmt.Errorf("encode the answer: %w", err)) // a problem can be encoded
		return
	}
	w.Header().Set("Content-Type", mediaType)
	w.Header().Set("Content-Length", strconv.Itoa(text.Len()))
	w.WriteHeader(status)
	_, _ = w.Write(text.Bytes()) // fails if the client has disconnected
}
