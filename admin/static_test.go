package admin_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sqluice/sqluice/admin"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
)

// TestFiles checks that browsers may cache files for ever, since the names change with the content; pages refer to no other files.
func TestFiles(t *testing.T) {
	h := newHandler(t, jobs.New(testdb.SQLite(t)), admin.Config{Prefix: "/queue"})
	server := httptest.NewServer(h)
	defer server.Close()
	get := func(path string, change func(*http.Request)) (*http.Response, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, nil)
		must(t, err)
		if change != nil {
			change(r)
		}
		answer, err := http.DefaultClient.Do(r)
		must(t, err)
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		must(t, err)
		return answer, string(text)
	}
	_, overview := get("/queue/", nil)
	named := regexp.MustCompile(`/queue/static/[^"]+`).FindAllString(overview, -1)
	if len(named) < 3 {
		t.Errorf("the overview names the files %q", named)
	}
	for _, name := range h.FileNames() {
		named = append(named, "/queue/static/"+name)
	}
	types := map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
	for _, path := range named {
		answer, text := get(path, nil)
		tag := answer.Header.Get("ETag")
		sum := sha256.Sum256([]byte(text))
		if answer.StatusCode != 200 || text == "" || answer.Header.Get("Content-Type") != types[filepath.Ext(path)] ||
			answer.Header.Get("Cache-Control") != "private, max-age=31536000, immutable" || !strings.Contains(path, hex.EncodeToString(sum[:8])) ||
			tag != `"`+hex.EncodeToString(sum[:8])+`"` || answer.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s is answered with %d, %v", path, answer.StatusCode, answer.Header)
		}
		if again, text := get(path, header("If-None-Match", tag)); again.StatusCode != http.StatusNotModified || text != "" {
			t.Errorf("%s that is known is answered with %d", path, again.StatusCode)
		}
	}
	for _, path := range []string{"/queue/static/app.css", "/queue/static/LICENSE", "/queue/static/SOURCE.json", "/queue/static/"} {
		if answer, _ := get(path, nil); answer.StatusCode != http.StatusNotFound || answer.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s is answered with %d, %s", path, answer.StatusCode, answer.Header.Get("Cache-Control"))
		}
	}
}

// TestVendoredFiles checks that the files equal those of the npm package and version that SOURCE.json names.
func TestVendoredFiles(t *testing.T) {
	folders, err := filepath.Glob("static/vendor/*")
	must(t, err)
	if len(folders) == 0 {
		t.Fatal("nothing is vendored")
	}
	for _, folder := range folders {
		text, err := os.ReadFile(filepath.Join(folder, "SOURCE.json"))
		must(t, err)
		var source struct {
			Name, Version, License string
			SHA256                 map[string]string
		}
		must(t, json.Unmarshal(text, &source))
		if filepath.Base(folder) != source.Name+"-"+source.Version || source.License != "MIT" || source.SHA256["LICENSE"] == "" {
			t.Errorf("%s is %s %s, %s", folder, source.Name, source.Version, source.License)
		}
		entries, err := os.ReadDir(folder)
		must(t, err)
		for _, entry := range entries {
			if entry.Name() == "SOURCE.json" {
				continue
			}
			content, err := os.ReadFile(filepath.Join(folder, entry.Name()))
			must(t, err)
			sum := sha256.Sum256(content)
			if want := source.SHA256[entry.Name()]; hex.EncodeToString(sum[:]) != want {
				t.Errorf("%s/%s is not the file of %s %s: %x, want %s", folder, entry.Name(), source.Name, source.Version, sum, want)
			}
		}
	}
}

var inline = regexp.MustCompile(`(?i)<style|\sstyle\s*=|\son[a-z]+\s*=|javascript:|<script(?:[^>]*)>[^<]|<script>|<base|<iframe|<object|<embed`)

// TestNothingInline checks that pages have no inline script or style, and scripts do not turn text into markup.
func TestNothingInline(t *testing.T) {
	for _, bad := range []string{`<style>`, `<p style="x">`, `<a onclick="f()">`, `<a href="javascript:f()">`, `<script>f()</script>`, `<script defer>f()</script>`} {
		if !inline.MatchString(bad) {
			t.Errorf("not found: %s", bad)
		}
	}
	pages, err := filepath.Glob("pages/*.html")
	must(t, err)
	if len(pages) < 9 {
		t.Errorf("there are the pages %q", pages)
	}
	for _, name := range pages {
		text, err := os.ReadFile(name)
		must(t, err)
		if found := inline.FindString(string(text)); found != "" {
			t.Errorf("%s has %q", name, found)
		}
		if strings.Contains(string(text), "template.HTML") || strings.Contains(string(text), "| safe") {
			t.Errorf("%s has markup that is not escaped", name)
		}
	}
	scripts, err := filepath.Glob("static/*.js")
	must(t, err)
	sinks := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|DOMParser|createContextualFragment|\.srcdoc`)
	for _, name := range scripts {
		text, err := os.ReadFile(name)
		must(t, err)
		if found := sinks.FindString(string(text)); found != "" {
			t.Errorf("%s has %q", name, found)
		}
	}
	code, err := filepath.Glob("*.go")
	must(t, err)
	for _, name := range code {
		text, err := os.ReadFile(name)
		must(t, err)
		if regexp.MustCompile(`template\.(HTML|JS|URL|CSS|Srcset|HTMLAttr|JSStr)\b`).Match(text) && !strings.HasSuffix(name, "_test.go") {
			t.Errorf("%s makes text that is not escaped", name)
		}
	}
}
