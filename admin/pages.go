package admin

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
)

//go:embed pages static
var files embed.FS

// page is a page of the dashboard. Its path is below the handler's prefix.
type page struct {
	path  string
	serve func(*Handler, *http.Request) (view, error)
}

// pages are all that can be looked at. What their forms send is in actions.
func pages() []page {
	return []page{
		{"/{$}", (*Handler).overviewPage},
		{"/jobs", (*Handler).jobsPage},
		{"/jobs/{id}", (*Handler).jobPage},
		{"/failed", (*Handler).failedPage},
		{"/queues", (*Handler).queuesPage},
		{"/workers", (*Handler).workersPage},
		{"/audit", (*Handler).auditPage},
	}
}

// view is what a page shows: the data of the template with its name.
type view struct {
	name, title string
	data        any
}

// frame is what a template gets.
type frame struct {
	Name     string // of the template
	Title    string
	Theme    string // that somebody chose; empty for the system's
	ReadOnly bool
	Fragment bool   // only what is inside of main is asked for, by the script
	Here     string // where a form leads back to
	Events   string // the stream that says when to read the page again; empty when there is none
	Flash    *flash
	Data     any
}

// fragmentHeader is set by the script when it brings a page up to date that is open.
const fragmentHeader = "Sqluice-Fragment"

// pagePolicy lets pages load the handler's own files and nothing else; nothing is run or styled that stands in a page
// itself, and no script can make markup of text.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; " +
	"frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// dashboard is what all pages need: their templates and files.
type dashboard struct {
	templates map[string]*template.Template // by name
	files     map[string]file               // by the name they are served by
}

// newDashboard reads the pages for a handler below a prefix.
func (h *Handler) newDashboard() (*dashboard, error) {
	d := &dashboard{templates: map[string]*template.Template{}}
	names, err := d.readFiles()
	if err != nil {
		return nil, err
	}
	layout, err := template.New("layout.html").Funcs(h.functions(names)).ParseFS(files, "pages/layout.html", "pages/parts.html")
	if err != nil {
		return nil, fmt.Errorf("read the layout of the pages: %w", err)
	}
	list, err := fs.Glob(files, "pages/*.html")
	if err != nil {
		return nil, err
	}
	for _, name := range list {
		t, err := layout.Clone()
		if err == nil {
			t, err = t.ParseFS(files, name)
		}
		if err != nil {
			return nil, fmt.Errorf("read the page %s: %w", name, err)
		}
		d.templates[strings.TrimSuffix(path.Base(name), ".html")] = t
	}
	return d, nil
}

// mountPages adds the pages, what their forms send and their files to the mux.
func (h *Handler) mountPages() error {
	var err error
	if h.site, err = h.newDashboard(); err != nil {
		return err
	}
	for _, p := range pages() {
		h.mux.Handle("GET "+h.config.Prefix+p.path, h.pageEndpoint(p))
	}
	if h.config.Prefix != "" {
		h.mux.HandleFunc("GET "+h.config.Prefix, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, h.config.Prefix+"/", http.StatusSeeOther)
		})
	}
	for _, a := range actions() {
		h.mux.Handle("POST "+h.config.Prefix+a.path, h.actionEndpoint(a))
	}
	h.mux.HandleFunc("GET "+h.config.Prefix+"/static/{name}", h.serveFile)
	return nil
}

// pageEndpoint serves a page, or the error that it met.
func (h *Handler) pageEndpoint(p page) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), answerWithin)
		defer cancel()
		v, err := p.serve(h, r.WithContext(ctx))
		if err != nil {
			h.refuse(w, r, err)
			return
		}
		h.show(w, r, http.StatusOK, v)
	})
}

// show answers with a page.
func (h *Handler) show(w http.ResponseWriter, r *http.Request, status int, v view) {
	f := frame{
		Name: v.name, Title: v.title, Theme: themeOf(r), ReadOnly: h.config.ReadOnly, Fragment: r.Header.Get(fragmentHeader) != "",
		Here: r.URL.RequestURI(), Data: v.data,
	}
	if r.Method == http.MethodPost { // what a form is answered with cannot be gone back to
		f.Here = h.back(r)
	} else if r.Method == http.MethodGet && status == http.StatusOK { // nor can a fault be read again
		f.Events = h.config.Prefix + base + "/events"
	}
	if !f.Fragment {
		f.Flash = h.takeFlash(w, r)
	}
	var text bytes.Buffer
	if err := h.site.templates[v.name].ExecuteTemplate(&text, "layout", f); err != nil {
		h.note(r, "a page cannot be shown", err)
		http.Error(w, "the page cannot be shown; the log of the server says why", http.StatusInternalServerError)
		return
	}
	header := w.Header()
	header.Set("Content-Security-Policy", pagePolicy)
	// A form whose page tells nobody its origin looks like one of another site.
	header.Set("Referrer-Policy", "same-origin")
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Content-Length", strconv.Itoa(text.Len()))
	header.Add("Vary", fragmentHeader)
	w.WriteHeader(status)
	_, _ = w.Write(text.Bytes()) // who asked may have gone
}

// isForPeople reports whether a request is a browser's for a page, and not one of the API.
func (h *Handler) isForPeople(r *http.Request) bool {
	way := strings.TrimPrefix(r.URL.Path, h.config.Prefix)
	return way != base && !strings.HasPrefix(way, base+"/") && strings.Contains(r.Header.Get("Accept"), "text/html")
}

// showProblem answers with a fault as a page.
func (h *Handler) showProblem(w http.ResponseWriter, r *http.Request, p *problem) {
	h.show(w, r, p.Status, view{"problem", p.Title, p})
}

// themeOf is the theme that somebody chose; empty for the system's.
func themeOf(r *http.Request) string {
	if cookie, err := r.Cookie(themeCookie); err == nil && (cookie.Value == "light" || cookie.Value == "dark") {
		return cookie.Value
	}
	return ""
}
