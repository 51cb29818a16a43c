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
	"path"
	"strings"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

const (
	mostForm   = 64 << 10 // bytes of what a form sends
	themeKept  = 365 * 24 * time.Hour
	mostPicked = mostPage // jobs that are ticked in a list
)

// action is what a form of the pages sends. It answers with a page, such as a question, or leads back to where it came from
// with a message.
type action struct {
	path   string
	quiet  bool // it changes nothing in the queue
	answer func(*Handler, http.ResponseWriter, *http.Request) (*view, flash, error)
}

func actions() []action {
	return []action{
		{"/jobs/change", false, (*Handler).changeJobs},
		{"/failed/retry", false, (*Handler).retryGroup},
		{"/queues/pause", false, (*Handler).pauseForm},
		{"/queues/resume", false, (*Handler).resumeForm},
		{"/theme", true, (*Handler).chooseTheme},
	}
}

// actionEndpoint does what a form is for. What comes of it is told on the page that it leads to, so that loading that page
// again does nothing twice.
func (h *Handler) actionEndpoint(a action) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !a.quiet && h.config.ReadOnly {
			h.refuse(w, r, &problem{Status: http.StatusForbidden, Code: "read-only", Detail: "changes are not allowed here"})
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), answerWithin)
		defer cancel()
		r = r.WithContext(ctx)
		if err := readForm(w, r); err != nil {
			h.refuse(w, r, err)
			return
		}
		v, said, err := a.answer(h, w, r)
		if p := problemOf(err); err != nil && p.Status < http.StatusInternalServerError && p.Status != http.StatusNotFound {
			said, err = flash{Text: p.Detail}, nil // who pressed the button goes on where they were
		}
		if err == nil && v == nil && said.Text != "" {
			err = h.leaveFlash(w, r, said)
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
	r.Body = http.MaxBytesReader(w, r.Body, mostForm)
	if err := r.ParseForm(); err != nil {
		if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
			return err
		}
		return &jobs.InvalidError{Field: "body", Must: "be a form"}
	}
	return nil
}

// back is where a form leads: the page that it was on, if that is one of the handler's.
func (h *Handler) back(r *http.Request) string {
	to, err := url.Parse(r.PostForm.Get("back"))
	root := h.config.Prefix + "/"
	if err != nil || to.IsAbs() || to.Host != "" || to.User != nil || to.Opaque != "" || strings.Contains(to.Path, "\\") ||
		to.Path != root && (!strings.HasPrefix(to.Path, root) || path.Clean(to.Path) != to.Path) {
		return root
	}
	return (&url.URL{Path: to.Path, RawQuery: to.RawQuery}).String()
}

// asAPI is a form's request as one of the API, from the same sender: what it does is done, and refused, by the API's own
// code.
func asAPI(r *http.Request, body any) (*http.Request, error) {
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
	return h.queueForm(r, (*Handler).pauseQueue, "paused: what runs goes on, and nothing else is taken from it")
}

func (h *Handler) resumeForm(_ http.ResponseWriter, r *http.Request) (*view, flash, error) {
	return h.queueForm(r, (*Handler).resumeQueue, "no longer paused")
}

func (h *Handler) queueForm(r *http.Request, set func(*Handler, *http.Request) (answer, error), is string) (*view, flash, error) {
	call, err := asAPI(r, nil)
	if err != nil {
		return nil, flash{}, err
	}
	name := r.PostForm.Get("name")
	call.SetPathValue("name", name)
	_, err = set(h, call)
	return nil, flash{OK: true, Text: fmt.Sprintf("Queue %s is %s.", name, is)}, err
}

// chooseTheme keeps the theme that somebody prefers; any other word than light and dark is the system's.
func (h *Handler) chooseTheme(w http.ResponseWriter, r *http.Request) (*view, flash, error) {
	switch theme := r.PostForm.Get("theme"); theme {
	case "light", "dark":
		h.setCookie(w, r, themeCookie, theme, themeKept)
	default:
		h.setCookie(w, r, themeCookie, "", -time.Second)
	}
	return nil, flash{}, nil
}
