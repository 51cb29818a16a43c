package admin

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"
)

const (
	// heartbeatEvery is the interval of comments while nothing changes. Proxies close silent connections, and a write detects a client
	// that has disconnected.
	heartbeatEvery = 15 * time.Second

	// eventTimeout bounds the time of a write to a client. After it the stream ends.
	eventTimeout = 10 * time.Second

	// maxStreamAge bounds the age of a stream. Clients reconnect by themselves, and the handler checks their credentials again: a
	// revoked token or a locked user then gets no more events.
	maxStreamAge = 15 * time.Minute

	// reconnectAfter is the delay before a client reconnects after the end of its stream.
	reconnectAfter = 2 * time.Second
)

// events answers with a stream of server-sent events.
func (h *Handler) events(r *http.Request) (answer, error) {
	if err := noQuery(r); err != nil {
		return answer{}, err
	}
	return answer{stream: h.stream}, nil
}

// Close ends the event streams and refuses new ones. Pass it to [http.Server.RegisterOnShutdown]: a server that shuts down waits
// for the end of requests, and event streams last for minutes. The handler still serves other requests.
func (h *Handler) Close() { h.feed.close() }

// stream writes events until the client disconnects or stops reading, maxStreamAge is over, or Close is called.
func (h *Handler) stream(w http.ResponseWriter, r *http.Request) {
	control := http.NewResponseController(w)
	// The server's timeouts are for short requests.
	if err := supported(control.SetReadDeadline(time.Time{})); err != nil {
		return // the connection is gone
	}
	s, err := h.feed.subscribe()
	if err != nil {
		h.refuse(w, r, err)
		return
	}
	defer h.feed.unsubscribe(s)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // nginx would buffer the events
	send := func(text []byte) bool {
		if supported(control.SetWriteDeadline(time.Now().Add(h.eventTimeout))) != nil {
			return false
		}
		_, err := w.Write(text)
		return err == nil && supported(control.Flush()) == nil
	}
	if !send(fmt.Appendf(nil, "retry: %d\n\n", reconnectAfter.Milliseconds())) || r.Method == http.MethodHead {
		return
	}
	heartbeat := time.NewTicker(h.heartbeatEvery)
	defer heartbeat.Stop()
	over := time.NewTimer(h.maxStreamAge - rand.N(h.maxStreamAge/5)) // spreads the reconnects of clients that connected together
	defer over.Stop()
	for {
		text := []byte(": nothing new\n\n")
		select {
		case <-r.Context().Done():
			return
		case <-s.ended:
			return
		case <-over.C:
			return
		case text = <-s.latest:
		case <-heartbeat.C:
		}
		if !send(text) {
			return
		}
	}
}

// supported drops the error of a ResponseWriter, of a middleware, that cannot control the connection. Events then arrive when the
// middleware flushes them.
func supported(err error) error {
	if errors.Is(err, http.ErrNotSupported) {
		return nil
	}
	return err
}
