package admin

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Pages returns the method and the path of each page and form, below the handler's prefix.
func Pages() (list [][2]string) {
	for _, p := range pages() {
		list = append(list, [2]string{http.MethodGet, strings.ReplaceAll(p.path, "{$}", "")})
	}
	for _, a := range actions() {
		list = append(list, [2]string{http.MethodPost, a.path})
	}
	return list
}

// FileNames returns the names under which the pages' files are served.
func (h *Handler) FileNames() []string { return slices.Sorted(maps.Keys(h.site.files)) }

// Relative returns a time as templates show it.
func Relative(t, now time.Time) string { return relative(t, now) }

// ReasonTitles returns the titles of the reasons that a job can have, by their texts in the contract.
func ReasonTitles() map[string]string {
	titles := map[string]string{}
	for reason, title := range reasonTitles() {
		titles[string(reason)] = title
	}
	return titles
}

func Number(n int64) string { return number(n) }

func Span(d time.Duration) string { return span(d) }
