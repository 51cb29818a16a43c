// Package admin is the HTTP side of a queue, for the people who look after it: a dashboard, and a JSON API below /api/admin. It
// is one http.Handler, which a service mounts where it likes; `sqluice serve` serves it by itself.
//
// What the API takes and answers is said by openapi.json, which it also serves. Faults are answered as problem documents
// (RFC 9457).
package admin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/sqluice/sqluice/internal/callback"
	"github.com/sqluice/sqluice/jobs"
)

const (
	base = "/api/admin"

	// answerWithin is how long the database may take for a request.
	answerWithin = 10 * time.Second
)

// Config says where a Handler is, whom it serves and what they may do. The zero value of every field is its default.
type Config struct {
	// Prefix is the path that the handler is mounted below, such as "/queue" for "/queue/api/admin/jobs". The handler
	// takes it off requests by itself: mount it without http.StripPrefix.
	Prefix string

	// Token is what each request must carry, as "Authorization: Bearer TOKEN" or as the password of basic
	// authentication. It has at least 16 characters. Behind a proxy, Token or Authorize must be set.
	Token string

	// Authorize, when set, decides instead of Token: it returns the name of who asks, or an error for nobody who may. Changes
	// are noted with that name: see [jobs.WithActor].
	Authorize func(*http.Request) (user string, err error)

	// Hosts are the names that requests may be for, without a port, beside localhost and the addresses of the machine. A
	// request for another name is refused: another site may have pointed its name to this machine. A request for one of
	// Hosts needs Token or Authorize, since it may come through a proxy.
	Hosts []string

	// Origins are other sites, as "https://example.com", whose pages may send changes.
	Origins []string

	// ReadOnly refuses all changes.
	ReadOnly bool

	// Streams is how many clients may read the event stream at once; 1000 when 0.
	Streams int

	// Logger takes faults that requests are not told in full; slog.Default when nil.
	Logger *slog.Logger
}

// Handler serves the API. Make one with [New]. It may be used concurrently.
//
// Without a Token or Authorize it serves only direct requests from this machine: over a loopback interface or a Unix socket,
// by HTTP/1.1 or newer, for localhost or an address of the machine, and without a header field that a proxy adds.
type Handler struct {
	client   *jobs.Client
	config   Config
	log      *slog.Logger
	mux      *http.ServeMux
	crossing *http.CrossOriginProtection
	contract []byte
	feed     *feed
	site     *dashboard
	now      func() time.Time

	heartbeatEvery, eventWithin, streamFor time.Duration
}

// New makes a Handler for the queue of a client. The error joins all faults of the Config, each an [jobs.InvalidError].
func New(client *jobs.Client, c Config) (*Handler, error) {
	h := &Handler{
		client: client, config: c, log: c.Logger, mux: http.NewServeMux(), crossing: http.NewCrossOriginProtection(), now: time.Now,
		heartbeatEvery: heartbeatEvery, eventWithin: eventWithin, streamFor: streamFor,
	}
	if h.log == nil {
		h.log = slog.Default()
	}
	h.config.Hosts = slices.Clone(c.Hosts)
	feedLog := callback.Logger(h.log) // a handler that blocks must not hold up the event stream
	h.feed = newFeed(client, c.Streams, func(err error) { feedLog.Error("the event stream cannot tell of changes", "error", err) })
	faults := c.faults()
	for _, origin := range c.Origins {
		if err := h.crossing.AddTrustedOrigin(origin); err != nil {
			faults = append(faults, &jobs.InvalidError{Field: "Origins", Value: fmt.Sprintf("%q", origin), Must: "be origins such as https://example.com"})
		}
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	for _, r := range routes() {
		h.mux.Handle(r.method+" "+c.Prefix+base+r.path, h.endpoint(r))
	}
	if err := h.mountPages(); err != nil {
		return nil, err
	}
	var err error
	h.contract, err = contractBelow(c.Prefix)
	return h, err
}

func (c Config) faults() []error {
	var faults []error
	if c.Prefix != "" && !isPath(c.Prefix) {
		faults = append(faults, &jobs.InvalidError{Field: "Prefix", Value: fmt.Sprintf("%q", c.Prefix), Must: "be a path such as /queue"})
	}
	if c.Streams < 0 {
		faults = append(faults, &jobs.InvalidError{Field: "Streams", Value: fmt.Sprint(c.Streams), Must: "not be negative"})
	}
	if c.Token != "" && len(c.Token) < leastToken {
		faults = append(faults, &jobs.InvalidError{Field: "Token", Must: fmt.Sprintf("have at least %d characters, not %d", leastToken, len(c.Token))})
	}
	if c.Token != strings.TrimSpace(c.Token) {
		faults = append(faults, &jobs.InvalidError{Field: "Token", Must: "not begin or end with a blank, which no header field can bring"})
	}
	if c.Token != "" && c.Authorize != nil {
		faults = append(faults, &jobs.InvalidError{Field: "Token", Must: "be empty where Authorize decides"})
	}
	for _, host := range c.Hosts {
		if host == "" || strings.ContainsAny(host, ":/ *") || strings.HasSuffix(host, ".") {
			faults = append(faults, &jobs.InvalidError{Field: "Hosts", Value: fmt.Sprintf("%q", host), Must: "be whole names without a port, such as jobs.example.com"})
		}
	}
	return faults
}

// isPath reports whether a prefix is a path as it stands in a URL: clean, since no other would ever be asked for, and of
// characters that need no escaping, since it goes into the mux's patterns and the Location of answers.
func isPath(prefix string) bool {
	return strings.HasPrefix(prefix, "/") && !strings.HasSuffix(prefix, "/") && path.Clean(prefix) == prefix &&
		(&url.URL{Path: prefix}).EscapedPath() == prefix
}

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r, ok := h.let(w, r)
	if !ok {
		return
	}
	if way := r.URL.EscapedPath(); way != path.Clean(way) && way != h.config.Prefix+"/" { // the mux would redirect
		h.refuse(w, r, noSuchPath())
		return
	}
	r = h.markSlash(r)
	if _, pattern := h.mux.Handler(r); pattern == "" {
		h.refuse(w, r, h.noRoute(w, r))
		return
	}
	if len(r.URL.RawQuery) > mostQuery {
		h.refuse(w, r, &problem{Status: http.StatusRequestURITooLong, Code: "query-too-long",
			Detail: fmt.Sprintf("the query of the URL must be at most %d bytes, not %d", mostQuery, len(r.URL.RawQuery))})
		return
	}
	h.mux.ServeHTTP(w, r)
}

// noRoute says why no route takes a request.
func (h *Handler) noRoute(w http.ResponseWriter, r *http.Request) *problem {
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodDelete} {
		other := *r
		other.Method = method
		if _, pattern := h.mux.Handler(&other); pattern != "" {
			allowed = append(allowed, method)
		}
	}
	if len(allowed) == 0 {
		return noSuchPath()
	}
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	return &problem{Status: http.StatusMethodNotAllowed, Code: "method", Detail: "the path takes " + strings.Join(allowed, ", ")}
}

func noSuchPath() *problem {
	return &problem{Status: http.StatusNotFound, Code: "no-such-path", Detail: "the API has no such path"}
}

// endpoint serves a route, and answers with its error if it has one.
func (h *Handler) endpoint(route route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if route.changes() && h.config.ReadOnly {
			h.refuse(w, r, &problem{Status: http.StatusForbidden, Code: "read-only", Detail: "changes are not allowed here"})
			return
		}
		if route.changes() {
			if err := readBody(w, r); err != nil {
				h.refuse(w, r, err)
				return
			}
		}
		ctx, cancel := context.WithTimeout(r.Context(), answerWithin) // of the database, not of who asks
		defer cancel()
		a, err := route.serve(h, r.WithContext(ctx))
		if err != nil {
			h.refuse(w, r, err)
			return
		}
		if a.stream != nil {
			a.stream(w, r) // for as long as who asks likes to read
			return
		}
		h.answer(w, r, a)
	})
}
