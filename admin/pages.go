package admin

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/sqluice/sqluice/internal/printable"
	"github.com/sqluice/sqluice/jobs"
)

//go:embed pages static
var files embed.FS

// page is a page of the dashboard. Its path follows the handler's prefix.
type page struct {
	path  string
	serve func(*Handler, *http.Request) (view, error)
}

// pages returns the pages. See actions for their forms.
func pages() []page {
	return []page{
		{"/{$}", (*Handler).overviewPage},
		{"/jobs", (*Handler).jobsPage},
		{"/jobs/{id}", (*Handler).jobPage},
		{"/failed", (*Handler).failedPage},
		{"/queues", (*Handler).queuesPage},
		{"/limits", (*Handler).limitsPage},
		{"/schedules", (*Handler).schedulesPage},
		{"/schedules/{name}", (*Handler).schedulePage},
		{"/workers", (*Handler).workersPage},
		{"/audit", (*Handler).auditPage},
	}
}

// view is the content of a page: the name of its template, its title and its data.
type view struct {
	name, title string
	data        any
}

// frame is the data of the layout.
type frame struct {
	Name     string // the name of the template
	Title    string
	Theme    string // the choice of the user; empty for the theme of the system
	ReadOnly bool
	Fragment bool   // only the content of main, for the script
	Here     string // the URL that forms return to
	Events   string // the URL of the event stream; empty if the page does not follow changes
	Flash    *flash
	Failed   string // the number of failed jobs; empty if it is not known
	Data     any
	serviceConfig
}

// serviceConfig holds the parts of pages that the service configures: see [Config].
type serviceConfig struct {
	Service, BackURL, LogOutURL string
}

// fragmentHeader is a header field that the script sends when it updates an open page.
const fragmentHeader = "Sqluice-Fragment"

// pagePolicy is the content security policy. It allows only the handler's own files, no inline scripts and styles, and no scripts that turn
// text into markup.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; " +
	"frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// dashboard holds the templates and files of the pages.
type dashboard struct {
	templates map[string]*template.Template // the templates by name
	files     map[string]file               // the files by the name in the URL
}

// newDashboard parses the templates and reads the files.
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

// mountPages adds the routes of the pages, their forms and their files to the mux.
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

// pageEndpoint returns the handler of a page.
func (h *Handler) pageEndpoint(p page) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), requestTimeout)
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
		Here: r.URL.RequestURI(), Data: v.data, serviceConfig: serviceConfig{h.config.Service, h.config.BackURL, h.config.LogOutURL},
	}
	if r.Method == http.MethodPost { // the answer of a form is not a page of the form's URL
		f.Here = h.back(r)
	} else if r.Method == http.MethodGet && status == http.StatusOK { // error pages do not follow changes
		f.Events = h.config.Prefix + base + "/events"
	}
	if status == http.StatusOK { // otherwise the database may not answer
		f.Failed = h.failedCount(r)
	}
	if !f.Fragment {
		f.Flash = h.takeFlash(w, r)
	}
	var text bytes.Buffer
	if err := h.site.templates[v.name].ExecuteTemplate(&text, "layout", f); err != nil {
		h.logError(r, "making a page failed", err)
		http.Error(w, "the page cannot be shown: the server's log has the error", http.StatusInternalServerError)
		return
	}
	page := printable.Page(text.String()) // names may hold control characters
	header := w.Header()
	header.Set("Content-Security-Policy", pagePolicy)
	// With the policy no-referrer, a browser sends "Origin: null" with a form, as for another site.
	header.Set("Referrer-Policy", "same-origin")
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Content-Length", strconv.Itoa(len(page)))
	header.Add("Vary", fragmentHeader)
	w.WriteHeader(status)
	_, _ = io.WriteString(w, page) // fails if the client has disconnected
}

// failedCount returns the number of failed jobs for the navigation, or "" if the read fails: the page works without it.
func (h *Handler) failedCount(r *http.Request) string {
	ctx, cancel := context.WithTimeout(r.Context(), requestTimeout)
	defer cancel()
	counts, err := h.inspector.Counts(ctx)
	if err != nil {
		h.logError(r, "counting the failed jobs for a page failed", err)
		return ""
	}
	return number(total(counts, jobs.StatusFailed, "", ""))
}

// isForPeople reports whether a request is from a browser for a page, not for the API.
func (h *Handler) isForPeople(r *http.Request) bool {
	way := strings.TrimPrefix(r.URL.Path, h.config.Prefix)
	return way != base && !strings.HasPrefix(way, base+"/") && strings.Contains(r.Header.Get("Accept"), "text/html")
}

// showProblem answers with a problem as a page.
func (h *Handler) showProblem(w http.ResponseWriter, r *http.Request, p *problem) {
	h.show(w, r, p.Status, view{"problem", p.Title, p})
}

// themeOf returns the theme of the user, or "" for the theme of the system.
func themeOf(r *http.Request) string {
	if cookie, err := r.Cookie(themeCookie); err == nil && (cookie.Value == "light" || cookie.Value == "dark") {
		return cookie.Value
	}
	return ""
}

// file is a style sheet, script or picture of the pages.
type file struct {
	mediaType, tag string
	content        []byte
}

// readFiles reads the files of the pages and returns their names in URLs. A name contains a hash of the content, so that browsers may cache
// the file without a time limit.
func (d *dashboard) readFiles() (map[string]string, error) {
	d.files = map[string]file{}
	names := map[string]string{}
	types := map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
	err := fs.WalkDir(files, "static", func(way string, entry fs.DirEntry, err error) error {
		ending := path.Ext(way)
		if err != nil || entry.IsDir() || types[ending] == "" {
			return err
		}
		content, err := files.ReadFile(way)
		if err != nil {
			return err
		}
		hash := sha256.Sum256(content)
		sum := hex.EncodeToString(hash[:8])
		name := strings.TrimSuffix(path.Base(way), ending) + "." + sum + ending
		names[path.Base(way)] = name
		d.files[name] = file{types[ending], `"` + sum + `"`, content}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the files of the pages: %w", err)
	}
	return names, nil
}

// serveFile answers with a file of the pages.
func (h *Handler) serveFile(w http.ResponseWriter, r *http.Request) {
	f, ok := h.site.files[r.PathValue("name")]
	if !ok {
		h.refuse(w, r, noSuchPath())
		return
	}
	w.Header().Set("Content-Type", f.mediaType)
	w.Header().Set("Cache-Control", "private, max-age=31536000, immutable")
	w.Header().Set("ETag", f.tag)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(f.content))
}
