package admin

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sqluice/sqluice/internal/newjob"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/jobs"
)

const (
	maxQueryBytes   = 8 << 10 // the size of a URL's query
	maxBodyBytes    = newjob.MaxBytes
	maxPageSize     = 200
	defaultPageSize = 50
)

// parameters holds the parameters of a URL's query, and the first fault that a method finds in them.
type parameters struct {
	values url.Values
	fault  error
}

// queryOf returns the parameters of a request. It refuses unknown parameters and repeated ones.
func queryOf(r *http.Request, known ...string) *parameters {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return &parameters{fault: &jobs.InvalidError{Field: "query", Must: "be written as name=value&name=value, with special characters escaped"}}
	}
	p := &parameters{values: values}
	for name, list := range values {
		if !slices.Contains(known, name) {
			p.fail(&jobs.InvalidError{Field: "query", Value: fmt.Sprintf("%q", name), Must: "have no parameters" + allowedNames(known)})
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

// limit returns the maximum number of rows of the answer.
func (p *parameters) limit() int { return p.number("limit", defaultPageSize, maxPageSize) }

// number returns a number from 1 to most, or byDefault if the parameter is missing.
func (p *parameters) number(name string, byDefault, most int) int {
	text := p.text(name)
	if text == "" {
		return byDefault
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		p.fail(&jobs.InvalidError{Field: name, Value: fmt.Sprintf("%q", text), Must: fmt.Sprintf("be from 1 to %d", most)})
	}
	return n
}

// cursor returns the position of a page; 0 is the first page.
func (p *parameters) cursor(name string) int64 {
	text := p.text(name)
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		p.fail(&jobs.InvalidError{Field: name, Value: fmt.Sprintf("%q", text), Must: "be the next of the previous page"})
	}
	return n
}

// time returns a time, or the zero time if the parameter is missing.
func (p *parameters) time(name string) time.Time {
	text := p.text(name)
	if text == "" {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		p.fail(&jobs.InvalidError{Field: name, Value: fmt.Sprintf("%q", text), Must: "be a time of RFC 3339, such as 2026-11-22T09:00:00Z"})
	}
	return t
}

// jobID returns the id in a request's path. It returns an error if the id is invalid or check refuses the request.
func jobID(r *http.Request, check func(*http.Request) error) (int64, error) {
	text := r.PathValue("id")
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 1 {
		return 0, &jobs.InvalidError{Field: "id", Value: fmt.Sprintf("%q", text), Must: fmt.Sprintf("be a whole number from 1 to %d", math.MaxInt64)}
	}
	return id, check(r)
}

// nameMark follows a name that a path cannot have as a segment: a mux does not match a slash, and browsers remove "." and "..". No name has
// a NUL.
const nameMark = "\x00"

// nameSegment returns a name as the last segment of a page's path.
func nameSegment(name string) string {
	if name == "/" || name == "." || name == ".." {
		name += nameMark
	}
	return url.PathEscape(name)
}

// pathName returns the name in a request's path.
func pathName(r *http.Request) string {
	name := r.PathValue("name")
	if bare := strings.TrimSuffix(name, nameMark); bare == "/" || bare == "." || bare == ".." {
		return bare
	}
	return name
}

// markSlash adds the mark after the name of a queue or a schedule whose name is a slash.
func (h *Handler) markSlash(r *http.Request) *http.Request {
	way := r.URL.EscapedPath()
	for _, before := range []string{base + "/queues/", base + "/schedules/", "/schedules/"} {
		before = h.config.Prefix + before
		rest, found := strings.CutPrefix(way, before)
		if !found || len(rest) < 3 || !strings.EqualFold(rest[:3], "%2F") || len(rest) > 3 && rest[3] != '/' {
			continue
		}
		marked, address := *r, *r.URL
		address.RawPath = before + nameSegment("/") + rest[3:]
		var err error
		if address.Path, err = url.PathUnescape(address.RawPath); err != nil {
			return r // not a path
		}
		marked.URL = &address
		return &marked
	}
	return r
}

// readBody returns the body of a request. The server's timeouts bound the time of the read. It refuses a body that is too large, before the
// read if the request has its length.
func readBody(w http.ResponseWriter, r *http.Request) error {
	if err := checkEncoding(w, r); err != nil {
		return err
	}
	if r.ContentLength > maxBodyBytes {
		w.Header().Set("Connection", "close") // the body is not read
		return &http.MaxBytesError{Limit: maxBodyBytes}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBodyBytes))
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return &problem{Status: http.StatusRequestTimeout, Code: "body-too-slow", Detail: "the body did not arrive in time"}
	}
	if err != nil {
		return badBody(err)
	}
	if err := core.CheckMark("body", body); err != nil {
		return err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return nil
}

// checkEncoding refuses a compressed body.
func checkEncoding(w http.ResponseWriter, r *http.Request) error {
	for _, encoding := range r.Header.Values("Content-Encoding") {
		if encoding = strings.TrimSpace(encoding); encoding != "" && !strings.EqualFold(encoding, "identity") {
			w.Header().Set("Accept-Encoding", "identity") // the allowed encoding: RFC 7694
			return &problem{Status: http.StatusUnsupportedMediaType, Code: "content-encoding",
				Detail: fmt.Sprintf("the body has the Content-Encoding %.40q: send it uncompressed, without that header field", encoding)}
		}
	}
	return nil
}

// noQuery refuses a query, for routes without parameters.
func noQuery(r *http.Request) error { return queryOf(r).fault }

// allowedNames lists allowed parameters.
func allowedNames(known []string) string {
	if len(known) == 0 {
		return ""
	}
	return fmt.Sprintf(" but %q", known)
}

// refuseBody refuses a query and a body, for routes that take neither.
func refuseBody(r *http.Request) error {
	if err := noQuery(r); err != nil {
		return err
	}
	return emptyBody(r)
}

// emptyBody refuses a body.
func emptyBody(r *http.Request) error {
	if n, err := io.Copy(io.Discard, r.Body); n > 0 || err != nil {
		return &jobs.InvalidError{Field: "body", Must: "be empty"}
	}
	return nil
}

// decode reads the body of a request, one JSON object, into the struct that v points to, with the rules of [newjob.Decode].
func decode(r *http.Request, v any) error {
	if err := noQuery(r); err != nil {
		return err
	}
	mediaType, parameters, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if charset := parameters["charset"]; err != nil || mediaType != "application/json" || charset != "" && !strings.EqualFold(charset, "utf-8") {
		return &problem{Status: http.StatusUnsupportedMediaType, Code: "media-type", Detail: "the body must be JSON in UTF-8, with the Content-Type application/json"}
	}
	err = newjob.Decode(r.Body, "body", v)
	if invalid := (*jobs.InvalidError)(nil); errors.As(err, &invalid) {
		// Its field has the name of the contract, not of package jobs.
		return invalidProblem(err, fault{invalid.Field, invalid.Value, invalid.Must})
	}
	return err
}

// badBody is the error of a body that cannot be read.
func badBody(err error) error {
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return err
	}
	return &jobs.InvalidError{Field: "body", Must: "be one JSON document, an object: " + err.Error()}
}
