package admin

import (
	"net/http"

	"github.com/sqluice/sqluice/jobs"
)

// Guard serves another handler, such as that of metrics, by the rules of this one: it is asked only by those who may ask
// this one, under the same hosts and from the same origins. The path does not matter.
func (h *Handler) Guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r, ok := h.let(w, r); ok {
			next.ServeHTTP(w, r)
		}
	})
}

// let begins every answer: with the header that all have, and with the refusal of requests that may not be served. It returns
// a request that may be, with the name of who asks: whatever it changes is noted as their doing.
func (h *Handler) let(w http.ResponseWriter, r *http.Request) (*http.Request, bool) {
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
