package admin

import (
	"net/http"
	"net/url"
)

// listFilter is the filter of a page with a list, and the position of the page.
type listFilter struct {
	path   string
	Filter url.Values // without the position
	First  bool       // it is the newest page
}

func listFilterOf(r *http.Request) listFilter {
	n := listFilter{path: r.URL.Path, Filter: r.URL.Query()}
	n.First = n.Filter.Get("after") == ""
	n.Filter.Del("after")
	return n
}

// Get returns a field of the filter.
func (n listFilter) Get(name string) string { return n.Filter.Get(name) }

// With returns the URL of the list with one field of the filter changed. An empty value removes the field.
func (n listFilter) With(name, value string) string {
	values := url.Values{}
	for field, list := range n.Filter {
		if field != name && list[0] != "" {
			values.Set(field, list[0])
		}
	}
	if value != "" {
		values.Set(name, value)
	}
	if len(values) == 0 {
		return n.path
	}
	return n.path + "?" + values.Encode()
}
