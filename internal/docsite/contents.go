package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sqluice/sqluice/internal/markdown"
)

const summary = "A job queue for Go on SQLite and PostgreSQL whose every query is SQL you own."

// group is a part of the sidebar.
type group struct {
	Title string `json:"title"`
	Pages []page `json:"pages"`
}

// page is a page of the site, in site/pages.json and afterwards with its text.
type page struct {
	Page  string `json:"page"`  // its path on the site and below docs, without .md
	Title string `json:"title"` // in the sidebar
	Says  string `json:"says"`  // one sentence: the purpose of the page
	Words string `json:"words"` // for the search: the names that readers of other queues use for the subject

	text    string
	source  string  // the file to edit, "" for generated pages
	rank    float64 // its weight in searches: a guide comes before a reference, and that before a decision
	beneath []page
}

func (p page) isDecision() bool {
	return strings.HasPrefix(p.Page, "decisions/") && p.Page != "decisions/index"
}

// flat returns the pages of a group and those beneath them.
func (g group) flat() []page {
	var list []page
	for _, p := range g.Pages {
		list = append(append(list, p), p.beneath...)
	}
	return list
}

func all(groups []group) []page {
	var list []page
	for _, g := range groups {
		list = append(list, g.flat()...)
	}
	return list
}

// contents returns the site's pages in the order of its sidebar. It fails when a page of docs has no place there.
func contents(root string) ([]group, error) {
	text, err := os.ReadFile(filepath.Join(root, "site", "pages.json"))
	if err != nil {
		return nil, err
	}
	var groups []group
	if err := json.Unmarshal(text, &groups); err != nil {
		return nil, fmt.Errorf("site/pages.json: %w", err)
	}
	for _, g := range groups {
		for i := range g.Pages {
			if err := fill(root, &g.Pages[i]); err != nil {
				return nil, fmt.Errorf("page %s: %w", g.Pages[i].Page, err)
			}
			if g.Title == "Guides" {
				g.Pages[i].rank = 2
			}
		}
	}
	return groups, errors.Join(complete(root, groups), distinct(groups))
}

// fill gives a page its text.
func fill(root string, p *page) (err error) {
	if p.Title == "" || !strings.HasSuffix(p.Says, ".") {
		return errors.New("title and a sentence are missing in site/pages.json")
	}
	p.rank = 1
	switch name, isPackage := strings.CutPrefix(p.Page, "go/"); {
	case isPackage:
		p.rank = 0.5
		p.text, err = packagePage(root, name)
		return err
	case p.Page == "decisions/index":
		p.rank = 0.5
		if p.beneath, err = decisions(root); err != nil {
			return err
		}
		p.source = "docs/decisions/README.md"
	default:
		p.source = "docs/" + p.Page + ".md"
	}
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(p.source)))
	if err != nil {
		return err
	}
	if generated := strings.Contains(string(text[:min(len(text), 600)]), "DO NOT EDIT"); generated {
		p.rank = 0.5
	}
	p.text = markdown.Relink(string(text), func(target string) string { return relinked(p.source, target) })
	return nil
}

// decisions returns the pages of the decisions, and the page of the dropped ones last.
func decisions(root string) ([]page, error) {
	files, err := filepath.Glob(filepath.Join(root, "docs", "decisions", "0*.md"))
	if err != nil {
		return nil, err
	}
	files = append(files, filepath.Join(root, "docs", "decisions", "dropped.md"))
	var list []page
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		source := "docs/decisions/" + filepath.Base(file)
		p := page{Page: "decisions/" + strings.TrimSuffix(filepath.Base(file), ".md"), source: source, rank: 0.2}
		p.text = markdown.Relink(string(text), func(target string) string { return relinked(source, target) })
		p.Title = strings.ReplaceAll(markdown.Title(p.text), "`", "")
		if number, title, isNumbered := strings.Cut(p.Title, ". "); isNumbered {
			p.Says = "Decision " + number + ": " + title + "."
		} else {
			p.Says = "Decisions that the tree does not follow any more."
		}
		list = append(list, p)
	}
	return list, nil
}

// relinked returns a link of a file as the site has it: links to pages stay, others lead to the repository.
func relinked(source, target string) string {
	if strings.HasPrefix(target, "#") || strings.Contains(target, ":") {
		return target
	}
	name, anchor, hasAnchor := strings.Cut(target, "#")
	if hasAnchor {
		anchor = "#" + anchor
	}
	file := path.Join(path.Dir(source), name)
	switch {
	case path.Base(file) == "README.md" && strings.HasPrefix(file, "docs/"):
		return path.Join(path.Dir(name), "index.md") + anchor
	case file == "admin/openapi.json":
		return "/openapi.json"
	case strings.HasPrefix(file, "docs/") && path.Ext(file) == ".md":
		return target
	case path.Ext(file) == "":
		return repository + "/tree/main/" + file + anchor
	}
	return repository + "/blob/main/" + file + anchor
}

// complete fails when a page of docs is not in the sidebar.
func complete(root string, groups []group) error {
	var missing []error
	err := fs.WalkDir(os.DirFS(filepath.Join(root, "docs")), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Ext(name) != ".md" {
			return err
		}
		if !slices.ContainsFunc(all(groups), func(p page) bool { return p.source == "docs/"+name }) {
			missing = append(missing, fmt.Errorf("docs/%s is missing in site/pages.json", name))
		}
		return nil
	})
	return errors.Join(append(missing, err)...)
}

// distinct fails when a page is in the sidebar twice.
func distinct(groups []group) error {
	seen := map[string]bool{}
	for _, p := range all(groups) {
		if seen[p.Page] {
			return fmt.Errorf("site/pages.json has the page %s twice", p.Page)
		}
		seen[p.Page] = true
	}
	return nil
}

// item is an entry of the sidebar as the site's generator reads it.
type item struct {
	Text      string `json:"text"`
	Link      string `json:"link,omitempty"`
	Items     []item `json:"items,omitempty"`
	Collapsed *bool  `json:"collapsed,omitempty"`
}

// writeSidebar writes the sidebar, and the weights of pages in searches.
func writeSidebar(groups []group, folder string) error {
	collapsed := true
	var bar []item
	for _, g := range groups {
		part := item{Text: g.Title}
		for _, p := range g.Pages {
			entry := item{Text: p.Title, Link: "/" + strings.TrimSuffix(p.Page, "index")}
			for _, below := range p.beneath {
				entry.Items = append(entry.Items, item{Text: below.Title, Link: "/" + below.Page})
				entry.Collapsed = &collapsed
			}
			part.Items = append(part.Items, entry)
		}
		bar = append(bar, part)
	}
	text, err := json.MarshalIndent(bar, "", "  ")
	if err != nil {
		return err
	}
	ranks := map[string]float64{}
	for _, p := range all(groups) {
		ranks["/"+p.Page+".html"] = p.rank
	}
	weights, err := json.Marshal(ranks)
	return errors.Join(err, save(folder, "sidebar.json", string(text)+"\n"), save(folder, "ranks.json", string(weights)+"\n"))
}

// writeIndex writes the first page: site/index.md, and the list of pages.
func writeIndex(groups []group, root, folder string) error {
	text, err := os.ReadFile(filepath.Join(root, "site", "index.md"))
	if err != nil {
		return err
	}
	var list strings.Builder
	list.Write(text)
	for _, g := range groups {
		fmt.Fprintf(&list, "\n## %s\n\n", g.Title)
		for _, p := range g.Pages {
			fmt.Fprintf(&list, "- [%s](%s.md): %s\n", p.Title, p.Page, p.Says)
		}
	}
	return save(folder, "index.md", list.String())
}
