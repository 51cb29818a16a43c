package admin

import (
	"net/http"
	"net/url"
)

// narrowing is what a page with a list is narrowed to, and which part of the list it has.
type narrowing struct {
	path   string
	Filter url.Values // without the part
	First  bool       // it is the newest part
}

func narrowingOf(r *http.Request) narrowing {
	n := narrowing{path: r.URL.Path, Filter: r.URL.Query()}
	n.First = n.Filter.Get("after") == ""
	n.Filter.Del("after")
	return n
}

// Get is a field of the filter.
func (n narrowing) Get(name string) string { return n.Filter.Get(name) }

// With leads to the same list with one field of the filter changed; an empty value leaves it out.
func (n narrowing) With(name, value string) string {
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
