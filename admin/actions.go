package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sqluice/sqluice/jobs"
)

const (
	maxFormBytes   = 64 << 10 // the size of a form's body
	themeCookieAge = 365 * 24 * time.Hour
	maxSelected    = maxPageSize // ticked jobs of a list
)

// action handles a form of the pages. It returns a page, such as a question, or a message for the page of the redirect.
type action struct {
	path       string
	isReadOnly bool // the action does not change the queue
	answer     func(*Handler, http.ResponseWriter, *http.Request) (*view, flash, error)
}

func actions() []action {
	return []action{
		{"/jobs/change", false, (*Handler).changeJobs},
		{"/jobs/update", false, (*Handler).updateForm},
		{"/users/forget", false, (*Handler).forgetForm},
		{"/failed/retry", false, (*Handler).retryGroup},
		{"/queues/pause", false, (*Handler).pauseForm},
		{"/queues/resume", false, (*Handler).resumeForm},
		{"/retention", false, (*Handler).retentionForm},
		{"/limits", false, (*Handler).limitForm},
		{"/schedules/change", false, (*Handler).changeSchedule},
		{"/theme", true, (*Handler).chooseTheme},
	}
}

// actionEndpoint returns the handler of an action. It redirects to a page with the message, so that a reload of the page does not repeat
// the action.
func (h *Handler) actionEndpoint(a action) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !a.isReadOnly && h.config.ReadOnly {
			h.refuse(w, r, &problem{Status: http.StatusForbidden, Code: "read-only", Detail: "changes are not allowed here"})
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), requestTimeout)
		defer cancel()
		r = r.WithContext(ctx)
		if err := readForm(w, r); err != nil {
			h.refuse(w, r, err)
			return
		}
		v, message, err := a.answer(h, w, r)
		if p := problemOf(err); err != nil && p.Status < http.StatusInternalServerError && p.Status != http.StatusNotFound {
			message, err = flash{Text: p.Detail}, nil // shown on the page with the form
		}
		if err == nil && v == nil && message.Text != "" {
			err = h.setFlash(w, r, message)
		}
		switch {
		case err != nil:
			h.refuse(w, r, err)
		case v != nil:
			h.show(w, r, http.StatusOK, *v)
		default:
			http.Redirect(w, r, h.back(r), http.StatusSeeOther)
		}
	})
}

func readForm(w http.ResponseWriter, r *http.Request) error {
	if err := noQuery(r); err != nil {
		return err
	}
	if err := checkEncoding(w, r); err != nil {
		return err
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxFormBytes)
	if err := r.ParseForm(); err != nil {
		if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
			return err
		}
		return &jobs.InvalidError{Field: "body", Must: "be a form"}
	}
	for name, values := range r.PostForm {
		for _, value := range values {
			if !utf8.ValidString(value) { // package json would change the text
				return &jobs.InvalidError{Field: name, Must: "be valid UTF-8"}
			}
		}
	}
	return nil
}

// back returns the path of the page after a form: the form's page if that is the handler's own, else the overview.
func (h *Handler) back(r *http.Request) string {
	text := r.PostForm.Get("back")
	to, err := url.Parse(text)
	root := h.config.Prefix + "/"
	if err != nil || to.IsAbs() || to.Host != "" || to.User != nil || to.Opaque != "" || strings.Contains(text, "\\") {
		return root
	}
	way := to.EscapedPath() // with %2F for a slash in a name
	if rest, own := strings.CutPrefix(way, root); !own || rest != "" && !areSegments(rest) {
		return root
	}
	return (&url.URL{Path: to.Path, RawPath: to.RawPath, RawQuery: to.RawQuery}).String()
}

// areSegments reports whether an escaped path consists of segments that no browser removes.
func areSegments(way string) bool {
	for segment := range strings.SplitSeq(way, "/") {
		if name, err := url.PathUnescape(segment); err != nil || name == "" || name == "." || name == ".." {
			return false
		}
	}
	return true
}

// apiRequest returns a form's request as a request of the same user for the API, whose code serves or refuses it.
func apiRequest(r *http.Request, body any) (*http.Request, error) {
	call := r.Clone(r.Context())
	call.URL.RawQuery = ""
	call.Body = http.NoBody
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("encode a form's request: %w", err)
		}
		call.Body = io.NopCloser(bytes.NewReader(text))
		call.Header.Set("Content-Type", "application/json")
	}
	return call, nil
}

func (h *Handler) pauseForm(_ http.ResponseWriter, r *http.Request) (*view, flash, error) {
	return h.queueForm(r, (*Handler).pauseQueue, "paused: running jobs continue, and no job is claimed", "kind", "for_s", "reason")
}

func (h *Handler) resumeForm(_ http.ResponseWriter, r *http.Request) (*view, flash, error) {
	return h.queueForm(r, (*Handler).resumeQueue, "no longer paused", "kind")
}

// queueForm changes the queue of a form, or a kind in it. The fields that are not empty become the query of the request for the API.
func (h *Handler) queueForm(r *http.Request, set func(*Handler, *http.Request) (answer, error), is string, fields ...string) (*view, flash, error) {
	call, err := apiRequest(r, nil)
	if err != nil {
		return nil, flash{}, err
	}
	name := r.PostForm.Get("name")
	call.SetPathValue("name", name)
	values := url.Values{}
	for _, field := range fields {
		if value := strings.TrimSpace(r.PostForm.Get(field)); value != "" {
			values.Set(field, value)
		}
	}
	call.URL.RawQuery = values.Encode()
	made, err := set(h, call)
	p, _ := made.body.(pausing)
	if p.Paused && !p.Changed {
		is = "paused already, for at least as long"
	}
	hint := ""
	for _, name := range p.Unknown {
		hint += " " + strings.ToUpper(name.String()[:1]) + name.String()[1:]
	}
	if kind := values.Get("kind"); kind != "" {
		return nil, flash{OK: true, Text: fmt.Sprintf("Kind %s of queue %s is %s.%s", kind, name, is, hint)}, err
	}
	return nil, flash{OK: true, Text: fmt.Sprintf("Queue %s is %s.%s", name, is, hint)}, err
}

// chooseTheme stores the user's theme in a cookie. Any value but light and dark means the system's theme.
func (h *Handler) chooseTheme(w http.ResponseWriter, r *http.Request) (*view, flash, error) {
	switch theme := r.PostForm.Get("theme"); theme {
	case "light", "dark":
		h.setCookie(w, r, themeCookie, theme, themeCookieAge)
	default:
		h.setCookie(w, r, themeCookie, "", -time.Second)
	}
	return nil, flash{}, nil
}
