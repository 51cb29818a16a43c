package admin

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"
)

const (
	// heartbeatEvery is how often a client gets a comment while nothing changes. Proxies close silent connections, and a write
	// detects a client that has gone.
	heartbeatEvery = 15 * time.Second

	// eventTimeout is how long a client may take to read an event before its stream ends.
	eventTimeout = 10 * time.Second

	// maxStreamAge bounds how long a stream lasts. Clients reconnect by themselves, and their credentials are checked again: a
	// revoked token or a locked user then gets no more events.
	maxStreamAge = 15 * time.Minute

	// reconnectAfter is after how long a client should reconnect when its stream has ended.
	reconnectAfter = 2 * time.Second
)

// events answers with a stream of server-sent events.
func (h *Handler) events(r *http.Request) (answer, error) {
	if err := noQuery(r); err != nil {
		return answer{}, err
	}
	return answer{stream: h.stream}, nil
}

// Close ends the event streams and refuses new ones. It is for [http.Server.RegisterOnShutdown]: a server that shuts down waits
// for requests to end, and event streams last for minutes. Other requests are still served.
func (h *Handler) Close() { h.feed.close() }

// stream writes events until the client leaves or stops reading, maxStreamAge is over, or the handler is closed.
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
	over := time.NewTimer(h.maxStreamAge - rand.N(h.maxStreamAge/5)) // so that clients that connected together do not reconnect together
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

// supported ignores the error of a middleware's ResponseWriter that cannot control the connection: events then arrive when the
// middleware flushes them.
func supported(err error) error {
	if errors.Is(err, http.ErrNotSupported) {
		return nil
	}
	return err
}
