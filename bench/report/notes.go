package main

import (
	"fmt"
	"strings"
)

// notes holds the texts of notes.md by their headings: "Introduction", "Method", and for each workload of a
// target the cause if the target is missed.
type notes map[string]string

const (
	introduction = "Introduction"
	method       = "Method"
)

func parseNotes(text string) (notes, error) {
	allowed := map[string]bool{introduction: true, method: true}
	for _, t := range targets() {
		allowed[t.title()] = true
	}
	all := notes{}
	heading := ""
	for line := range strings.Lines(text) {
		if title, ok := strings.CutPrefix(line, "## "); ok {
			heading = strings.TrimSpace(title)
			if !allowed[heading] {
				return nil, fmt.Errorf("notes.md: unknown target %q", heading)
			}
			if _, ok := all[heading]; ok {
				return nil, fmt.Errorf("notes.md: the heading %q occurs twice", heading)
			}
			all[heading] = ""
			continue
		}
		if heading != "" {
			all[heading] += line
		}
	}
	for _, heading := range []string{introduction, method} {
		if strings.TrimSpace(all[heading]) == "" {
			return nil, fmt.Errorf("notes.md: the heading %q is missing", heading)
		}
	}
	for heading, text := range all {
		all[heading] = strings.TrimSpace(text)
	}
	return all, nil
}
