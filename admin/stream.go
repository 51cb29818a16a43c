package admin

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"
)

const (
	// heartbeatEvery is how often a client is sent something when nothing changes: proxies break off connections that are
	// silent, and a client that has gone without a word is found out.
	heartbeatEvery = 15 * time.Second

	// eventWithin is how long a client may take to read an event. One that does not read is let go of.
	eventWithin = 10 * time.Second

	// streamFor is how long a stream lasts at the most. Clients come again by themselves and have to show anew that they may: a
	// token that was revoked, or a user who was locked out, does not go on to learn when something changes.
	streamFor = 15 * time.Minute

	// reconnectAfter is when a client should come again whose stream has ended.
	reconnectAfter = 2 * time.Second
)

// events answers with a stream of server-sent events.
func (h *Handler) events(r *http.Request) (answer, error) {
	if err := noQuery(r); err != nil {
		return answer{}, err
	}
	return answer{stream: h.stream}, nil
}

// Close ends the event streams and refuses new ones, for [http.Server.RegisterOnShutdown]: a server waits for requests to
// end, and these do not by themselves. All other requests are served as before.
func (h *Handler) Close() { h.feed.close() }

// stream writes events until the client goes or stops reading, its time is over, or the handler is closed.
func (h *Handler) stream(w http.ResponseWriter, r *http.Request) {
	control := http.NewResponseController(w)
	// A server's own bounds are for requests that end soon.
	if err := supported(control.SetReadDeadline(time.Time{})); err != nil {
		return // the connection is gone
	}
	s, err := h.feed.join()
	if err != nil {
		h.refuse(w, r, err)
		return
	}
	defer h.feed.leave(s)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // or nginx would keep events for itself
	send := func(text []byte) bool {
		if supported(control.SetWriteDeadline(time.Now().Add(h.eventWithin))) != nil {
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
	over := time.NewTimer(h.streamFor - rand.N(h.streamFor/5)) // not all at once that came at once, as after a restart
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

// supported takes it for no error that a middleware's ResponseWriter does not let one control the connection: events then
// come when it lets them through.
func supported(err error) error {
	if errors.Is(err, http.ErrNotSupported) {
		return nil
	}
	return err
}
