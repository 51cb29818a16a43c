package main

import (
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sqluice/sqluice/internal/markdown"
	"github.com/sqluice/sqluice/internal/test/gates"
)

func root(t *testing.T) string {
	t.Helper()
	folder, err := gates.Root()
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

// Every link of every page of the repository leads to a file or folder of it, and to a heading there, as on GitHub.
func TestLinks(t *testing.T) {
	top := root(t)
	files, err := gates.Files(top, ".", ".md")
	if err != nil {
		t.Fatal(err)
	}
	links := 0
	for _, file := range files {
		if file == "bench/report/notes.md" {
			continue // a part of docs/performance.md
		}
		for _, link := range markdown.Links(read(t, top, file)) {
			links++
			if fault := faultOf(top, file, link.Target); fault != "" {
				t.Errorf("%s:%d: %s: %s", file, link.Line, link.Target, fault)
			}
		}
	}
	if links < 200 {
		t.Errorf("only %d links: the pattern fits too few", links)
	}
}

func read(t *testing.T, folder, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(file)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// faultOf returns the fault of a link of a file, or "". It only parses links to other hosts.
func faultOf(top, file, target string) string {
	if strings.Contains(target, ":") {
		to, err := url.Parse(target)
		if err != nil || to.Scheme != "https" || to.Host == "" {
			return fmt.Sprintf("it is no https URL (%v)", err)
		}
		return ""
	}
	name, anchor, _ := strings.Cut(target, "#")
	if name != "" {
		file = path.Join(path.Dir(file), name)
	}
	text, err := os.ReadFile(filepath.Join(top, filepath.FromSlash(file)))
	if info, statErr := os.Stat(filepath.Join(top, filepath.FromSlash(file))); statErr == nil && info.IsDir() {
		err = nil
	}
	switch {
	case err != nil:
		return "there is no such file"
	case anchor != "" && !slices.Contains(markdown.Anchors(string(text)), anchor):
		return "the page has no such heading"
	}
	return ""
}

func TestBadLinksAreFound(t *testing.T) {
	top := root(t)
	for target, bad := range map[string]bool{
		"sql.md": false, "sql.md#enqueue": false, "../jobs/doc.go": false, "../jobs": false, "https://sqlite.org/wal.html": false,
		"nothing.md": true, "sql.md#nothing": true, "#nothing": true, "http://sqlite.org/": true, "../nothing": true, "https:///x": true,
	} {
		if fault := faultOf(top, "docs/api.md", target); (fault != "") != bad {
			t.Errorf("%s: fault %q", target, fault)
		}
	}
}

// The source of the site is complete: every page of docs and every public package has a page, and every link between pages leads to one
// and to a heading there.
func TestSite(t *testing.T) {
	folder := t.TempDir()
	if err := write(root(t), folder); err != nil {
		t.Fatal(err)
	}
	files, err := gates.Files(folder, ".", ".md")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 150 {
		t.Errorf("only %d pages", len(files))
	}
	for _, file := range files {
		if strings.HasPrefix(file, "public/") {
			continue
		}
		for _, link := range markdown.Links(read(t, folder, file)) {
			target := link.Target
			if target == "/openapi.json" {
				continue
			}
			if rest, isAbsolute := strings.CutPrefix(target, "/"); isAbsolute {
				target = strings.Repeat("../", strings.Count(file, "/")) + rest
			}
			if fault := faultOf(folder, file, target); fault != "" {
				t.Errorf("%s:%d: %s: %s", file, link.Line, link.Target, fault)
			}
		}
	}
	list := read(t, folder, "public/llms.txt")
	for _, wanted := range []string{"- [Schedules](schedules.md): ", "- [Go: jobs](go/jobs.md): ", "- [1. SQL files are the source: "} {
		if !strings.Contains(list, wanted) {
			t.Errorf("llms.txt lacks %q", wanted)
		}
	}
}

func TestRelinked(t *testing.T) {
	for target, want := range map[string]string{
		"sql.md#read": "sql.md#read", "#x": "#x", "https://sqlite.org/": "https://sqlite.org/",
		"../jobs/doc.go": repository + "/blob/main/jobs/doc.go", "../jobs": repository + "/tree/main/jobs",
		"../admin/openapi.json": "/openapi.json", "decisions/README.md": "decisions/index.md",
		"../README.md": repository + "/blob/main/README.md", "grafana/sqluice.json": repository + "/blob/main/docs/grafana/sqluice.json",
	} {
		if got := relinked("docs/api.md", target); got != want {
			t.Errorf("%s becomes %s, not %s", target, got, want)
		}
	}
}

// The reference has the content of the comments and declarations of a package, and shows the type behind an alias.
func TestPackagePage(t *testing.T) {
	page, err := packagePage(root(t), "jobs")
	if err != nil {
		t.Fatal(err)
	}
	for _, wanted := range []string{
		"# Package jobs\n", "\n## func Unique {#Unique}\n", "\n### Kind.Enqueue {#Kind.Enqueue}\n", "\n### Job.SetProgress {#Job.SetProgress}\n",
		"<a id=\"StatusPending\"></a>\n", "[CompleteTx](#CompleteTx)", "**Example**", "Payload json.RawMessage",
	} {
		if !strings.Contains(strings.Join(strings.Fields(page), " "), strings.Join(strings.Fields(wanted), " ")) {
			t.Errorf("the page of jobs lacks %q", wanted)
		}
	}
}
