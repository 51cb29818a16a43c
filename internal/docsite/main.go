// Command docsite writes the source of the documentation's site: the pages of docs with links that work there, a reference of the
// public packages, the sidebar, and llms.txt. `make docs` runs it before the generator of the site.
//
//	docsite ROOT FOLDER
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const repository = "https://github.com/sqluice/sqluice"

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: docsite ROOT FOLDER")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "docsite:", err)
		os.Exit(1)
	}
}

// write writes the site's source for the tree at root into a folder. It removes the earlier content of the folder.
func write(root, folder string) error {
	groups, err := contents(root)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	err = errors.Join(
		writePages(groups, folder),
		writeSidebar(groups, folder),
		writeIndex(groups, root, folder),
		writeForModels(groups, folder),
		copyContract(root, folder),
	)
	return err
}

// save writes a file and the folders above it.
func save(folder, name, text string) error {
	file := filepath.Join(folder, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(text), 0o644)
}

// copyContract copies the contract of the HTTP API, which the site serves unchanged.
func copyContract(root, folder string) error {
	contract, err := os.ReadFile(filepath.Join(root, "admin", "openapi.json"))
	if err != nil {
		return err
	}
	return save(folder, "public/openapi.json", string(contract))
}

// writePages writes each page twice: with the fields that the site's generator reads, and as plain Markdown beside it.
func writePages(groups []group, folder string) error {
	for _, p := range all(groups) {
		front := fmt.Sprintf("---\ntitle: %q\ndescription: %q\nwords: %q\nsource: %q\n---\n\n", p.Title, p.Says, p.Words, p.source)
		if err := errors.Join(save(folder, p.Page+".md", front+p.text), save(folder, "public/"+p.Page+".md", p.text)); err != nil {
			return err
		}
	}
	return nil
}

// writeForModels writes llms.txt, a list of the pages for language models, and llms-full.txt, which holds the pages as well.
func writeForModels(groups []group, folder string) error {
	var list, full strings.Builder
	list.WriteString("# sqluice\n\n> " + summary + "\n")
	full.WriteString(list.String())
	for _, g := range groups {
		fmt.Fprintf(&list, "\n## %s\n\n", g.Title)
		for _, p := range g.flat() {
			fmt.Fprintf(&list, "- [%s](%s.md): %s\n", p.Title, p.Page, p.Says)
			if !p.isDecision() {
				full.WriteString("\n" + p.text)
			}
		}
	}
	return errors.Join(save(folder, "public/llms.txt", list.String()), save(folder, "public/llms-full.txt", full.String()))
}
