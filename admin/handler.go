// Package admin serves a dashboard of a queue, and a JSON API below /api/admin, over HTTP. It is one http.Handler, which a service mounts
// below a path of its choice; `sqluice serve` serves it alone.
//
// openapi.json describes the API, which also serves it. Errors are problem documents (RFC 9457).
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
	"unicode"
	"unicode/utf8"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

const (
	base = "/api/admin"

	// requestTimeout bounds the time of the database for a request.
	requestTimeout = 10 * time.Second
)

// Config configures a Handler. The zero value of every field is its default.
type Config struct {
	// Prefix is the path below which the handler is mounted, such as "/queue" for "/queue/api/admin/jobs". The handler
	// removes it from requests: mount it without http.StripPrefix.
	Prefix string

	// Token is the secret that each request must have, as "Authorization: Bearer TOKEN" or as the password of basic
	// authentication. It has at least 16 characters. Behind a proxy, Token or Authorize must be set.
	Token string

	// Authorize, if set, replaces Token. It returns the user's name, or an error if the user may not use the handler. The audit
	// log records the name with each change: see [jobs.WithActor]. It is called concurrently.
	Authorize func(*http.Request) (user string, err error)

	// Hosts lists the allowed hosts of requests, without a port, in addition to localhost and the addresses of the machine. The
	// handler refuses other hosts: another site may have pointed its name to this machine. A request for one of Hosts needs
	// Token or Authorize, because it may come through a proxy.
	Hosts []string

	// Origins are other sites, such as "https://example.com", whose pages may send changes.
	Origins []string

	// ReadOnly refuses all changes.
	ReadOnly bool

	// Service is the name of the service. Pages show it instead of "sqluice". It has at most 100 characters.
	Service string

	// BackURL is the target of the link "Back" of pages: a path such as "/admin", or an http or https URL. Empty means no link.
	BackURL string

	// LogOutURL is the target of the link "Log out" of pages: a path, or an http or https URL, that ends the user's session. Empty
	// means no link. Browsers request it by GET.
	LogOutURL string

	// Streams is the maximum number of concurrent clients of the event stream. 0 means 1000.
	Streams int

	// Logger gets the errors that answers do not show in full. nil means slog.Default.
	Logger *slog.Logger
}

// Handler serves the dashboard and the API. Make it with [New]. It may be used concurrently.
//
// Without a Token or Authorize it serves only direct requests from this machine: over a loopback interface or a Unix socket,
// by HTTP/1.1 or newer, for localhost or an address of the machine, and without a header field that a proxy adds.
type Handler struct {
	client      *jobs.Client
	inspector   *inspect.Inspector
	config      Config
	log         *slog.Logger
	mux         *http.ServeMux
	crossOrigin *http.CrossOriginProtection
	contract    []byte
	feed        *feed
	site        *dashboard
	now         func() time.Time // the clock of this machine, for timeouts; the inspector has the queue's clock

	heartbeatEvery, eventTimeout, maxStreamAge time.Duration
}

// New returns a Handler for a client's queue. The error joins all faults of the Config, each a [jobs.InvalidError].
func New(client *jobs.Client, c Config) (*Handler, error) {
	h := &Handler{
		client: client, inspector: inspect.New(client), config: c, log: c.Logger, mux: http.NewServeMux(), crossOrigin: http.NewCrossOriginProtection(), now: time.Now,
		heartbeatEvery: heartbeatEvery, eventTimeout: eventTimeout, maxStreamAge: maxStreamAge,
	}
	if h.log == nil {
		h.log = slog.Default()
	}
	h.config.Hosts = slices.Clone(c.Hosts)
	h.feed = newFeed(client, c.Streams)
	if err := c.Validate(); err != nil {
		return nil, err
	}
	for _, origin := range c.Origins {
		if err := h.crossOrigin.AddTrustedOrigin(origin); err != nil {
			return nil, err // not reached after Validate
		}
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

// Validate returns the error of [New] for the Config, without a queue, or nil.
func (c Config) Validate() error {
	var faults []error
	if c.Prefix != "" && !isPath(c.Prefix) {
		faults = append(faults, &jobs.InvalidError{Field: "Prefix", Value: fmt.Sprintf("%q", c.Prefix), Must: "be a path such as /queue"})
	}
	if c.Streams < 0 {
		faults = append(faults, &jobs.InvalidError{Field: "Streams", Value: fmt.Sprint(c.Streams), Must: "not be negative"})
	}
	if c.Token != "" && len(c.Token) < minTokenLength {
		faults = append(faults, &jobs.InvalidError{Field: "Token", Must: fmt.Sprintf("have at least %d characters, not %d", minTokenLength, len(c.Token))})
	}
	if c.Token != strings.TrimSpace(c.Token) {
		faults = append(faults, &jobs.InvalidError{Field: "Token", Must: "not begin or end with a blank, which a header field cannot carry"})
	}
	if c.Token != "" && c.Authorize != nil {
		faults = append(faults, &jobs.InvalidError{Field: "Token", Must: "be empty if Authorize is set"})
	}
	faults = append(faults, c.checkSurroundings()...)
	for _, host := range c.Hosts {
		if host == "" || strings.ContainsAny(host, ":/ *") || strings.HasSuffix(host, ".") {
			faults = append(faults, &jobs.InvalidError{Field: "Hosts", Value: fmt.Sprintf("%q", host), Must: "be whole names without a port, such as jobs.example.com"})
		}
	}
	for _, origin := range c.Origins {
		if err := http.NewCrossOriginProtection().AddTrustedOrigin(origin); err != nil {
			faults = append(faults, &jobs.InvalidError{Field: "Origins", Value: fmt.Sprintf("%q", origin), Must: "be origins such as https://example.com"})
		}
	}
	return errors.Join(faults...)
}

// checkSurroundings returns an error for each invalid field of Service, BackURL and LogOutURL.
func (c Config) checkSurroundings() (faults []error) {
	if n := utf8.RuneCountInString(c.Service); n > maxServiceLength || !isName(c.Service) {
		faults = append(faults, &jobs.InvalidError{Field: "Service", Value: fmt.Sprintf("%.120q", c.Service),
			Must: fmt.Sprintf("be at most %d characters of UTF-8 without control characters, not blanks alone", maxServiceLength)})
	}
	for _, link := range []struct{ field, value string }{{"BackURL", c.BackURL}, {"LogOutURL", c.LogOutURL}} {
		if link.value != "" && !isLink(link.value) {
			faults = append(faults, &jobs.InvalidError{Field: link.field, Value: fmt.Sprintf("%.120q", link.value),
				Must: fmt.Sprintf("be a path such as /admin, or an http or https URL, of at most %d bytes", maxLinkLength)})
		}
	}
	return faults
}

// The bounds of Service, BackURL and LogOutURL.
const (
	maxServiceLength = 100 // characters
	maxLinkLength    = 2000
)

// isName reports whether a name is empty or readable on a page.
func isName(name string) bool {
	return name == "" || utf8.ValidString(name) && strings.TrimSpace(name) != "" && !strings.ContainsFunc(name, unicode.IsControl)
}

// isLink reports whether a text is a path of the same site, or an http or https URL with a host. Browsers read a backslash as a
// slash, so that /\host would be another site.
func isLink(text string) bool {
	if len(text) > maxLinkLength || !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == '\\' || r == 0x7f }) {
		return false
	}
	u, err := url.Parse(text)
	if err != nil || u.Opaque != "" {
		return false
	}
	if u.Scheme == "" {
		return u.Host == "" && strings.HasPrefix(text, "/") && !strings.HasPrefix(text, "//")
	}
	return (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.User == nil
}

// isPath reports whether a prefix is a clean path of characters that need no escaping: it becomes part of the mux's patterns and
// of the Location of answers, and clients clean paths.
func isPath(prefix string) bool {
	return strings.HasPrefix(prefix, "/") && !strings.HasSuffix(prefix, "/") && path.Clean(prefix) == prefix &&
		(&url.URL{Path: prefix}).EscapedPath() == prefix
}

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r, ok := h.prepare(w, r)
	if !ok {
		return
	}
	way := r.URL.EscapedPath()
	if to := strings.TrimSuffix(way, "/"); to != way && h.isPage(r, to) {
		if r.URL.RawQuery != "" {
			to += "?" + r.URL.RawQuery
		}
		http.Redirect(w, r, to, http.StatusMovedPermanently)
		return
	}
	if way != path.Clean(way) && way != h.config.Prefix+"/" { // the mux would redirect
		h.refuse(w, r, noSuchPath())
		return
	}
	r = h.markSlash(r)
	if _, pattern := h.mux.Handler(r); pattern == "" {
		h.refuse(w, r, h.noRoute(w, r))
		return
	}
	if len(r.URL.RawQuery) > maxQueryBytes {
		h.refuse(w, r, &problem{Status: http.StatusRequestURITooLong, Code: "query-too-long",
			Detail: fmt.Sprintf("the query of the URL must be at most %d bytes, not %d", maxQueryBytes, len(r.URL.RawQuery))})
		return
	}
	h.mux.ServeHTTP(w, r)
}

// isPage reports whether a request for the path to instead would be for a page.
func (h *Handler) isPage(r *http.Request, to string) bool {
	if to == h.config.Prefix || to != path.Clean(to) || r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	for _, p := range pages() {
		if one, _, _ := strings.Cut(p.path, "{"); to == h.config.Prefix+p.path ||
			one != "/" && one != p.path && strings.HasPrefix(to, h.config.Prefix+one) && !strings.Contains(to[len(h.config.Prefix+one):], "/") {
			return true
		}
	}
	return false
}

// noRoute returns the problem of a request without a route.
func (h *Handler) noRoute(w http.ResponseWriter, r *http.Request) *problem {
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
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
	return &problem{Status: http.StatusMethodNotAllowed, Code: "method", Detail: "the method must be one of " + strings.Join(allowed, ", ")}
}

func noSuchPath() *problem {
	return &problem{Status: http.StatusNotFound, Code: "no-such-path", Detail: "the API has no such path"}
}

// endpoint returns the handler of a route.
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
		ctx, cancel := context.WithTimeout(r.Context(), requestTimeout) // bounds the database, not the client
		defer cancel()
		a, err := route.serve(h, r.WithContext(ctx))
		if err != nil {
			h.refuse(w, r, err)
			return
		}
		if a.stream != nil {
			a.stream(w, r) // without the timeout
			return
		}
		h.answer(w, r, a)
	})
}
