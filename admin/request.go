package admin

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

const (
	mostQuery = 8 << 10 // bytes of a URL's query
	mostBody  = 2*jobs.MaxPayload + 64<<10
	mostPage  = 200
	onePage   = 50 // when a request does not say
)

// parameters are those of a URL's query. The first fault that is found is kept: see err.
type parameters struct {
	values url.Values
	fault  error
}

// queryOf reads the query of a request, which may have no parameters but these, each once.
func queryOf(r *http.Request, known ...string) *parameters {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return &parameters{fault: &jobs.InvalidError{Field: "query", Must: "be written as name=value&name=value, with what is special escaped"}}
	}
	p := &parameters{values: values}
	for name, list := range values {
		if !slices.Contains(known, name) {
			p.fail(&jobs.InvalidError{Field: "query", Value: fmt.Sprintf("%q", name), Must: fmt.Sprintf("have no parameters but %q", known)})
		} else if len(list) > 1 {
			p.fail(&jobs.InvalidError{Field: name, Must: "be given once"})
		}
	}
	return p
}

func (p *parameters) fail(err error) {
	if p.fault == nil {
		p.fault = err
	}
}

func (p *parameters) text(name string) string { return p.values.Get(name) }

// limit is how many rows are asked for.
func (p *parameters) limit() int {
	text := p.text("limit")
	if text == "" {
		return onePage
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > mostPage {
		p.fail(&jobs.InvalidError{Field: "limit", Value: fmt.Sprintf("%q", text), Must: fmt.Sprintf("be from 1 to %d", mostPage)})
	}
	return n
}

// cursor is where a page begins; 0 is the first.
func (p *parameters) cursor(name string) int64 {
	text := p.text(name)
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		p.fail(&jobs.InvalidError{Field: name, Value: fmt.Sprintf("%q", text), Must: "be the next of the page before"})
	}
	return n
}

// time is a time; the zero time when there is none.
func (p *parameters) time(name string) time.Time {
	text := p.text(name)
	if text == "" {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		p.fail(&jobs.InvalidError{Field: name, Value: fmt.Sprintf("%q", text), Must: "be a time as of RFC 3339, such as 2026-11-22T09:00:00Z"})
	}
	return t
}

// jobID is the id in the path of a request that check finds nothing wrong with else.
func jobID(r *http.Request, check func(*http.Request) error) (int64, error) {
	text := r.PathValue("id")
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 1 {
		return 0, &jobs.InvalidError{Field: "id", Value: fmt.Sprintf("%q", text), Must: "be a number of at least 1"}
	}
	return id, check(r)
}

// readBody reads the body of a request, however slowly it comes: how long that may take is the server's to say. One that is
// too large is refused, before it is read if it says so.
func readBody(w http.ResponseWriter, r *http.Request) error {
	if r.ContentLength > mostBody {
		w.Header().Set("Connection", "close") // nobody reads it
		return &http.MaxBytesError{Limit: mostBody}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostBody))
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return &problem{Status: http.StatusRequestTimeout, Code: "body-too-slow", Detail: "the body did not come in time"}
	}
	if err != nil {
		return badBody(err)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return nil
}

// noQuery refuses a query, for routes that take none.
func noQuery(r *http.Request) error { return queryOf(r).fault }

// noBody refuses a query, and a body that has no meaning, for routes that take neither.
func noBody(r *http.Request) error {
	if err := noQuery(r); err != nil {
		return err
	}
	if n, err := io.Copy(io.Discard, r.Body); n > 0 || err != nil {
		return &jobs.InvalidError{Field: "body", Must: "be empty"}
	}
	return nil
}
