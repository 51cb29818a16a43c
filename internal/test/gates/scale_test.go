package gates_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	performanceLink = regexp.MustCompile(`\[([^\]]+)\]\(performance\.md#all-workloads\)`)
	rate            = regexp.MustCompile(`\d{1,3}(?:,\d{3})+`)
	measuredAt      = regexp.MustCompile(`[Rr]evision ([0-9a-f]{7})`)
)

// docs/scale.md quotes rates of docs/performance.md: each is sqluice's in a row of the workload that the line's link names, and both pages
// name one revision. A new measurement has to be quoted anew.
func TestScaleQuotesPerformance(t *testing.T) {
	scale, performance := read(t, "docs/scale.md"), read(t, "docs/performance.md")
	quoted, measured := measuredAt.FindStringSubmatch(scale), measuredAt.FindStringSubmatch(performance)
	if quoted == nil || measured == nil || quoted[1] != measured[1] {
		t.Errorf("docs/scale.md quotes the revision %q, docs/performance.md has %q", quoted, measured)
	}
	rates := measuredRates(performance)
	compared := 0
	for line := range strings.Lines(scale) {
		link := performanceLink.FindStringSubmatch(line)
		if link == nil {
			continue
		}
		for _, figure := range rate.FindAllString(line, -1) {
			compared++
			if !slices.Contains(rates[link[1]], figure) {
				t.Errorf("docs/scale.md says %s of %s, where docs/performance.md has %s", figure, link[1], rates[link[1]])
			}
		}
	}
	if compared < 16 {
		t.Errorf("%d figures of docs/scale.md were compared, not 16 or more", compared)
	}
}

// measuredRates returns the figures of sqluice in the table of all workloads, by the workload.
func measuredRates(performance string) map[string][]string {
	rates := map[string][]string{}
	_, rows, _ := strings.Cut(performance, "## All workloads")
	for line := range strings.Lines(rows) {
		if cells := strings.Split(line, "|"); len(cells) > 10 {
			workload := strings.TrimSpace(cells[1])
			rates[workload] = append(rates[workload], strings.TrimSpace(cells[3]))
		}
	}
	return rates
}
