package browser_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// builtSite returns the folder into which `make docs` has built the site of the documentation. `make docs-check` sets it.
func builtSite(t *testing.T) string {
	t.Helper()
	folder := os.Getenv("SQLUICE_SITE")
	if folder == "" {
		t.Skip("make docs-check builds the site and runs this")
	}
	return folder
}

// serveSite serves the site as a host of files does.
func serveSite(t *testing.T, folder string) string {
	t.Helper()
	server := httptest.NewServer(http.FileServer(http.Dir(folder)))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}

// sitePages returns the paths of all pages of the site.
func sitePages(t *testing.T, folder string) []string {
	t.Helper()
	var list []string
	must(t, filepath.WalkDir(folder, func(file string, entry os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(file, ".html") && entry.Name() != "404.html" {
			relative, relErr := filepath.Rel(folder, file)
			must(t, relErr)
			list = append(list, "/"+filepath.ToSlash(relative))
		}
		return err
	}))
	if len(list) < 80 {
		t.Fatalf("the site has only %d pages", len(list))
	}
	return list
}

// widen sets the width of the window and the theme that the system asks for.
func (b *tab) widen(width int64, theme string) {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: width, Height: 900, DeviceScaleFactor: 1, Mobile: width < 760,
	})
	must(b.t, err)
	_, err = chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}, {Name: "prefers-reduced-motion", Value: "reduce"}},
	})
	must(b.t, err)
}

var (
	references = regexp.MustCompile(`\s(?:href|src)="([^"]*)"`)
	names      = regexp.MustCompile(`\sid="([^"]*)"`)
)

// TestDocsLinks: each link of the site leads to one of its files, and to a heading there.
func TestDocsLinks(t *testing.T) {
	folder := builtSite(t)
	anchors, links := map[string]map[string]bool{}, 0
	texts := map[string]string{}
	for _, page := range append(sitePages(t, folder), "/404.html") {
		text, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(page)))
		must(t, err)
		texts[page], anchors[page] = string(text), map[string]bool{}
		for _, name := range names.FindAllStringSubmatch(string(text), -1) {
			anchors[page][name[1]] = true
		}
	}
	for page, text := range texts {
		for _, match := range references.FindAllStringSubmatch(text, -1) {
			to, err := url.Parse(match[1])
			must(t, err)
			if to.Host != "" || to.Scheme == "data" {
				continue
			}
			links++
			file := page
			if to.Path != "" {
				file = path.Join(path.Dir(page), to.Path)
				if strings.HasPrefix(to.Path, "/") {
					file = path.Clean(to.Path)
				}
			}
			for _, tail := range []string{"", ".html", "/index.html"} {
				if info, err := os.Stat(filepath.Join(folder, filepath.FromSlash(file+tail))); err == nil && !info.IsDir() {
					file += tail
					break
				}
			}
			if _, err := os.Stat(filepath.Join(folder, filepath.FromSlash(file))); err != nil {
				t.Errorf("%s links to %s: %v", page, match[1], err)
			} else if to.Fragment != "" && !anchors[file][to.Fragment] {
				t.Errorf("%s links to %s: there is no such heading", page, match[1])
			}
		}
	}
	t.Logf("%d links", links)
}

// kindsOfPages has a page of each kind: the first one, a guide, tables, code, the help of commands, generated references, decisions.
var kindsOfPages = []string{
	"/index.html", "/start.html", "/retries.html", "/lifecycle.html", "/sql.html", "/cli.html", "/performance.html",
	"/go/jobs/postgres.html", "/decisions/index.html", "/decisions/0051-many-queues.html", "/404.html",
}

// judge is a script that leaves the faults of accessibility of a page in the variable faults. In the open search, which is VitePress's own,
// options hold links and have other names than their text.
const judge = `window.faults = undefined; axe.run(document, {preload: false, resultTypes: ["violations"], rules: document.querySelector('.VPLocalSearchBox')
	? {'nested-interactive': {enabled: false}, 'label-content-name-mismatch': {enabled: false}} : {}}).then(
	(r) => { window.faults = r.violations.flatMap((v) => v.nodes.slice(0, 3).map((n) => v.id + ': ' + n.html.slice(0, 160) + ' ' + n.failureSummary.slice(0, 300))) },
	(e) => { window.faults = ['axe: ' + e] }); true`

// TestDocsAreAccessible: axe-core finds no fault on any kind of page, at the width of a phone, a tablet and a desk, in light and dark.
func TestDocsAreAccessible(t *testing.T) {
	t.Parallel()
	folder := builtSite(t)
	axe, err := os.ReadFile(filepath.Join(folder, "..", "node_modules", "axe-core", "axe.min.js"))
	must(t, err)
	b := open(t, startChromium(t), serveSite(t, folder))
	for _, page := range kindsOfPages {
		b.widen(1440, "light")
		b.visit(page)
		b.do(until(`document.querySelector('#app')?.__vue_app__ !== undefined`))
		eval[bool](b, string(axe)+"; true")
		for _, theme := range []string{"light", "dark"} {
			for _, width := range []int64{390, 820, 1440} {
				b.widen(width, theme)
				b.do(until(fmt.Sprintf(`document.documentElement.classList.contains('dark') === %v`, theme == "dark")))
				b.judge(fmt.Sprintf("%s at %d in %s", page, width, theme))
			}
		}
	}
	// What opens: the menu, the sidebar and the search.
	b.visit("/retries.html")
	b.do(until(`document.querySelector('#app')?.__vue_app__ !== undefined`))
	eval[bool](b, string(axe)+"; true")
	b.widen(390, "light")
	b.do(chromedp.Click(chromedp.CSS(".VPNavBarHamburger")), until(`document.querySelector('.VPNavScreen') !== null`))
	b.judge("the open menu")
	b.do(chromedp.Click(chromedp.CSS(".VPNavBarHamburger")), until(`document.querySelector('.VPNavScreen') === null`))
	b.do(chromedp.Click(chromedp.CSS(".VPLocalNav .menu")), until(`document.querySelector('.VPSidebar.open') !== null`))
	b.judge("the open sidebar")
	b.widen(1440, "dark")
	b.visit("/retries.html")
	b.do(until(`document.querySelector('#app')?.__vue_app__ !== undefined`))
	eval[bool](b, string(axe)+"; true")
	b.search("schedule")
	b.judge("the open search")
	for _, said := range b.complaints() {
		if !strings.Contains(said, "404") {
			t.Error(said)
		}
	}
}

// judge reports the faults of the page in the tab.
func (b *tab) judge(what string) {
	b.t.Helper()
	eval[bool](b, judge)
	b.do(until(`window.faults !== undefined`))
	for _, fault := range eval[[]string](b, `window.faults`) {
		b.t.Errorf("%s: %s", what, fault)
	}
}

// search opens the search and looks for words.
func (b *tab) search(words string) {
	b.t.Helper()
	b.do(chromedp.Click(chromedp.CSS("#local-search button")), until(`document.querySelector('.search-input') !== null`))
	eval[bool](b, fmt.Sprintf(`(() => {
		const input = document.querySelector('.search-input');
		input.value = %q;
		input.dispatchEvent(new InputEvent('input', {bubbles: true}));
		return true;
	})()`, words))
	b.do(until(`document.querySelector('.results .result, .results .no-results') !== null`))
}

// TestDocsFitAPhone: no page scrolls sideways at the width of a phone, and none says anything on the console or asks another host.
func TestDocsFitAPhone(t *testing.T) {
	t.Parallel()
	folder := builtSite(t)
	b := open(t, startChromium(t), serveSite(t, folder))
	b.widen(390, "light")
	for _, page := range sitePages(t, folder) {
		b.visit(page)
		if wide := eval[int](b, `document.documentElement.scrollWidth`); wide > 390 {
			t.Errorf("%s is %d wide", page, wide)
		}
		foreign := eval[[]string](b, `performance.getEntriesByType('resource').map((e) => e.name).filter((n) => !n.startsWith(location.origin + '/'))`)
		if len(foreign) > 0 {
			t.Errorf("%s asks %q", page, foreign)
		}
	}
	for _, said := range b.complaints() {
		t.Error(said)
	}
}

// TestDocsSearch: the search finds the right page first, and asks no other host.
func TestDocsSearch(t *testing.T) {
	t.Parallel()
	folder := builtSite(t)
	b := open(t, startChromium(t), serveSite(t, folder))
	b.widen(1440, "light")
	for _, c := range []struct{ words, page string }{
		{"periodic", "/schedules.html"}, {"cron", "/schedules.html"}, {"unique", "/unique.html"}, {"deduplication", "/unique.html"},
		{"retry", "/retries.html"}, {"idempotency", "/retries.html"}, {"transaction", "/transactions.html"}, {"multi-tenant", "/tenants.html"},
		{"shutdown", "/shutdown.html"}, {"kubernetes", "/deploy.html"}, {"python", "/languages.html"}, {"pgbouncer", "/postgres.html"},
		{"prometheus", "/metrics.html"}, {"install", "/start.html"}, {"SetProgress", "/go/jobs.html"},
	} {
		b.visit("/index.html")
		b.do(until(`document.querySelector('#app')?.__vue_app__ !== undefined`))
		b.search(c.words)
		found := eval[[]string](b, `[...document.querySelectorAll('.results a.result')].slice(0, 5).map((a) => new URL(a.href).pathname + new URL(a.href).hash)`)
		if len(found) == 0 || !strings.HasPrefix(found[0], c.page) {
			t.Errorf("a search for %q finds %q, and not %s first", c.words, found, c.page)
		}
		eval[bool](b, `sessionStorage.clear(); true`)
	}
	if foreign := eval[[]string](b, `performance.getEntriesByType('resource').map((e) => e.name).filter((n) => !n.startsWith(location.origin + '/'))`); len(foreign) > 0 {
		t.Errorf("a search asks %q", foreign)
	}
}
