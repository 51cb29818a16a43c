package admin

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Pages are the method and the path of each page and form, below the handler's prefix.
func Pages() (list [][2]string) {
	for _, p := range pages() {
		list = append(list, [2]string{http.MethodGet, strings.ReplaceAll(p.path, "{$}", "")})
	}
	for _, a := range actions() {
		list = append(list, [2]string{http.MethodPost, a.path})
	}
	return list
}

// FileNames are the names that the pages' files are served by.
func (h *Handler) FileNames() []string { return slices.Sorted(maps.Keys(h.site.files)) }

// Relative and Number are what templates show of times and numbers.
func Relative(t, now time.Time) string { return relative(t, now) }

func Number(n int64) string { return number(n) }

func Span(d time.Duration) string { return span(d) }

// ChartPaths are the paths of a line that is the only one of its chart.
func ChartPaths(values []*float64) (line, area string) {
	l := lineOf{Values: values}
	c := chart{Lines: []lineOf{l}}
	return c.Line(l), c.Area(l)
}
