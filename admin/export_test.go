package admin

import (
	"net/http"
	"time"
)

// Routes returns the method and the path of each route.
func Routes() (list [][2]string) {
	for _, r := range routes() {
		list = append(list, [2]string{r.method, r.path})
	}
	return list
}

// SetClock replaces the handler's clock.
func (h *Handler) SetClock(now func() time.Time) { h.now = now }

// Refuse answers with an error.
func (h *Handler) Refuse(w http.ResponseWriter, r *http.Request, err error) { h.refuse(w, r, err) }

// Answer answers with a value.
func (h *Handler) Answer(w http.ResponseWriter, r *http.Request, body any) {
	h.answer(w, r, answer{body: body})
}

// SetPace sets the least interval between events, the interval of heartbeats, and the timeout of a client that reads an event.
func (h *Handler) SetPace(event, heartbeat, within time.Duration) {
	h.feed.every, h.heartbeatEvery, h.eventTimeout = event, heartbeat, within
}

// SetStreamTime sets how long a stream lasts.
func (h *Handler) SetStreamTime(d time.Duration) { h.maxStreamAge = d }

// Streams returns how many clients the event stream has, and whether the watcher runs.
func (h *Handler) Streams() (clients int, watched bool) {
	h.feed.mu.Lock()
	defer h.feed.mu.Unlock()
	return len(h.feed.streams), h.feed.watcher != nil
}
