// Package markdown finds the parts of a page that the site and the tests of the documentation need: fences, headings and links.
// It reads the Markdown of this repository's own pages, not all of Markdown.
package markdown

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// Fence is a fenced block of code.
type Fence struct {
	Line     int    // of its first line of code, from 1
	Language string // "" when the fence names none
	Text     string // without the indentation of the fence
	Note     string // the text of an HTML comment on the line before the fence, or ""
}

var (
	opening = regexp.MustCompile("^( *)```([a-z]*)$")
	comment = regexp.MustCompile(`^ *<!-- (.*) -->$`)
)

// Fences returns the fenced blocks of a page in their order.
func Fences(page string) []Fence {
	var list []Fence
	var open *Fence
	indent, before := "", ""
	for i, line := range strings.Split(page, "\n") {
		switch match := opening.FindStringSubmatch(line); {
		case open != nil && strings.TrimSpace(line) == "```":
			list = append(list, *open)
			open = nil
		case open != nil:
			open.Text += strings.TrimPrefix(line, indent) + "\n"
		case match != nil:
			indent = match[1]
			open = &Fence{Line: i + 2, Language: match[2]}
			if note := comment.FindStringSubmatch(before); note != nil {
				open.Note = note[1]
			}
		}
		before = line
	}
	return list
}

// prose calls fn for each line of a page outside of fences, and returns the page with the lines that fn returns.
func prose(page string, fn func(line int, text string) string) string {
	lines := strings.Split(page, "\n")
	inFence := false
	for i, line := range lines {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			inFence = !inFence
			continue
		}
		if !inFence {
			lines[i] = fn(i+1, line)
		}
	}
	return strings.Join(lines, "\n")
}

var (
	heading  = regexp.MustCompile(`^(#{1,6}) +(.*)$`)
	linkText = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	explicit = regexp.MustCompile(`(?: \{#([A-Za-z0-9_.-]+)\}|<a id="([A-Za-z0-9_.-]+)">)`)
)

// Anchors returns the names by which links lead to the headings of a page, as GitHub makes them from the text, and those that the
// page gives itself.
func Anchors(page string) []string {
	var list []string
	times := map[string]int{}
	prose(page, func(_ int, line string) string {
		if given := explicit.FindStringSubmatch(line); given != nil {
			list = append(list, given[1]+given[2])
			return line
		}
		if match := heading.FindStringSubmatch(line); match != nil {
			slug := Slug(linkText.ReplaceAllString(match[2], "$1"))
			times[slug]++
			if n := times[slug]; n > 1 {
				slug += "-" + strconv.Itoa(n-1)
			}
			list = append(list, slug)
		}
		return line
	})
	return list
}

// Slug returns the anchor that GitHub gives to a heading.
func Slug(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r), unicode.IsMark(r):
			return unicode.ToLower(r)
		}
		return -1
	}, strings.TrimSpace(heading))
}

// Title returns the text of the first heading, or "".
func Title(page string) string {
	title := ""
	prose(page, func(_ int, line string) string {
		if match := heading.FindStringSubmatch(line); match != nil && title == "" {
			title = match[2]
		}
		return line
	})
	return title
}

// Link is the target of a link or an image.
type Link struct {
	Line   int
	Target string
}

// target matches the target of a link, an image or an HTML image, and code in a line, which holds no links.
var target = regexp.MustCompile("`[^`]*`|\\]\\(([^)\\s]+)\\)|<img src=\"([^\"]+)\"")

// Links returns the targets of a page's links and images.
func Links(page string) []Link {
	var list []Link
	prose(page, func(line int, text string) string {
		for _, match := range target.FindAllStringSubmatch(text, -1) {
			if to := match[1] + match[2]; to != "" {
				list = append(list, Link{line, to})
			}
		}
		return text
	})
	return list
}

// Relink returns the page with the targets of its links replaced.
func Relink(page string, replace func(target string) string) string {
	return prose(page, func(_ int, text string) string {
		return target.ReplaceAllStringFunc(text, func(found string) string {
			to, isLink := strings.CutPrefix(found, "](")
			if !isLink {
				return found
			}
			return "](" + replace(strings.TrimSuffix(to, ")")) + ")"
		})
	})
}

// IndentedCode returns the lines at which a block of code begins that has no fence. Its language cannot be known.
func IndentedCode(page string) []int {
	var list []int
	afterBlank, inList := true, false
	prose(page, func(line int, text string) string {
		switch {
		case strings.TrimSpace(text) == "":
			afterBlank = true
			return text
		case !strings.HasPrefix(text, " "):
			inList = listItem.MatchString(text)
		case afterBlank && !inList && strings.HasPrefix(text, "    "):
			list = append(list, line)
		}
		afterBlank = false
		return text
	})
	return list
}

var listItem = regexp.MustCompile(`^([-*]|\d+\.) `)
