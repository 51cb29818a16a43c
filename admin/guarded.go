package admin

import (
	"net/http"

	"github.com/sqluice/sqluice/jobs"
)

// Guard returns a handler that calls next for the requests that h would serve: with the same credentials, hosts and origins.
// It is for other handlers beside h, such as that of metrics. The path does not matter.
func (h *Handler) Guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r, ok := h.prepare(w, r); ok {
			next.ServeHTTP(w, r)
		}
	})
}

// prepare sets the header fields of every answer, and refuses requests that may not be served. It returns an allowed request
// with the user's name, under which the audit log records its changes.
func (h *Handler) prepare(w http.ResponseWriter, r *http.Request) (*http.Request, bool) {
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("X-Content-Type-Options", "nosniff")
	actor, err := h.admit(r)
	if err != nil {
		h.refuse(w, r, err)
		return nil, false
	}
	return r.WithContext(jobs.WithActor(r.Context(), actor)), true
}
