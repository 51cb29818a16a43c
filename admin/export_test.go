package admin

import (
	"net/http"
	"time"
)

// Routes are the method and the path of each route.
func Routes() (list [][2]string) {
	for _, r := range routes() {
		list = append(list, [2]string{r.method, r.path})
	}
	return list
}

// SetClock has a handler ask for the time elsewhere.
func (h *Handler) SetClock(now func() time.Time) { h.now = now }

// Refuse answers with an error.
func (h *Handler) Refuse(w http.ResponseWriter, r *http.Request, err error) { h.refuse(w, r, err) }

// Answer answers with a value.
func (h *Handler) Answer(w http.ResponseWriter, r *http.Request, body any) {
	h.answer(w, r, answer{body: body})
}
