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

// SetPace changes how often a handler tells of changes and that it is there, and how long who listens may take to read.
func (h *Handler) SetPace(event, heartbeat, within time.Duration) {
	h.feed.every, h.heartbeatEvery, h.eventWithin = event, heartbeat, within
}

// SetStreamTime changes how long a stream lasts.
func (h *Handler) SetStreamTime(d time.Duration) { h.streamFor = d }

// Streams is how many clients the event stream has, and whether a goroutine watches for them.
func (h *Handler) Streams() (clients int, watched bool) {
	h.feed.mu.Lock()
	defer h.feed.mu.Unlock()
	return len(h.feed.streams), h.feed.watcher != nil
}
