package gates_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	performanceLink = regexp.MustCompile(`\(performance\.md#([a-z0-9-]+)\)`)
	rate            = regexp.MustCompile(`\d{1,3}(?:,\d{3})+`)
	measuredAt      = regexp.MustCompile(`[Rr]evision ([0-9a-f]{7})`)
)

// docs/scale.md quotes rates of docs/performance.md: each stands in a row of sqluice in the section that the line links to, and both pages
// name one revision. A new measurement has to be quoted anew.
func TestScaleQuotesPerformance(t *testing.T) {
	scale, performance := read(t, "docs/scale.md"), read(t, "docs/performance.md")
	quoted, measured := measuredAt.FindStringSubmatch(scale), measuredAt.FindStringSubmatch(performance)
	if quoted == nil || measured == nil || quoted[1] != measured[1] {
		t.Errorf("docs/scale.md quotes the revision %q, docs/performance.md has %q", quoted, measured)
	}
	sections := measuredRates(performance)
	compared := 0
	for line := range strings.Lines(scale) {
		link := performanceLink.FindStringSubmatch(line)
		if link == nil {
			continue
		}
		for _, figure := range rate.FindAllString(line, -1) {
			compared++
			if !slices.Contains(sections[link[1]], figure) {
				t.Errorf("docs/scale.md says %s of %s, where docs/performance.md has %s", figure, link[1], sections[link[1]])
			}
		}
	}
	if compared < 20 {
		t.Errorf("%d figures of docs/scale.md were compared, not 20 or more", compared)
	}
}

// measuredRates returns the figures in the column jobs/s of sqluice's rows by the anchor of their section.
func measuredRates(performance string) map[string][]string {
	sections := map[string][]string{}
	anchor := ""
	for line := range strings.Lines(performance) {
		if title, ok := strings.CutPrefix(line, "### "); ok {
			anchor = strings.ReplaceAll(strings.ToLower(strings.ReplaceAll(strings.TrimSpace(title), ",", "")), " ", "-")
		}
		if cells := strings.Split(line, "|"); len(cells) > 5 && strings.TrimSpace(cells[1]) == "sqluice" {
			sections[anchor] = append(sections[anchor], strings.TrimSpace(cells[5]))
		}
	}
	return sections
}
