package admin

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// minEventInterval is the shortest time between two events. Each event makes pages read the database.
const minEventInterval = 500 * time.Millisecond

// defaultStreams is the default of Config.Streams.
const defaultStreams = 1000

// feed sends events to the clients of the event stream. One watcher serves all clients, and runs while there are clients.
type feed struct {
	client     *jobs.Client
	maxClients int
	every      time.Duration

	mu      sync.Mutex
	streams map[*subscriber]struct{}
	watcher *watcher // nil without clients
	closed  bool
}

// subscriber is a client of the event stream. latest has room for one event; a newer event replaces an unread one.
type subscriber struct {
	latest chan []byte
	ended  chan struct{} // closed with the feed
}

// watcher holds the goroutine that makes events.
type watcher struct {
	cancel context.CancelFunc
	ended  chan struct{}
	latest []byte
}

func newFeed(client *jobs.Client, maxClients int) *feed {
	if maxClients == 0 {
		maxClients = defaultStreams
	}
	return &feed{client: client, maxClients: maxClients, every: minEventInterval, streams: map[*subscriber]struct{}{}}
}

// subscribe adds a client. The client gets the latest event at once, so that it reads the current state.
func (f *feed) subscribe() (*subscriber, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.closed:
		return nil, &problem{Status: http.StatusServiceUnavailable, Code: "closing", Detail: "the server is stopping"}
	case len(f.streams) >= f.maxClients:
		return nil, &problem{Status: http.StatusServiceUnavailable, Code: "too-many-streams", Detail: fmt.Sprintf("%d clients read the event stream, which is the limit", f.maxClients)}
	}
	s := &subscriber{latest: make(chan []byte, 1), ended: make(chan struct{})}
	f.streams[s] = struct{}{}
	if f.watcher == nil {
		ctx, cancel := context.WithCancel(context.Background())
		f.watcher = &watcher{cancel: cancel, ended: make(chan struct{})}
		go f.watch(ctx, f.watcher)
	} else if f.watcher.latest != nil {
		s.latest <- f.watcher.latest
	}
	return s, nil
}

// unsubscribe removes a client. After the last one it stops the watcher and waits for its end.
func (f *feed) unsubscribe(s *subscriber) {
	f.mu.Lock()
	delete(f.streams, s)
	var last *watcher
	if len(f.streams) == 0 {
		last, f.watcher = f.watcher, nil
	}
	f.mu.Unlock()
	if last != nil {
		last.cancel()
		<-last.ended
	}
}

// close ends all streams and refuses new clients.
func (f *feed) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return
	}
	f.closed = true
	for s := range f.streams {
		close(s.ended)
	}
}

// watch makes an event at its start and after each change, until ctx ends.
func (f *feed) watch(ctx context.Context, w *watcher) {
	defer close(w.ended)
	changed, stop := f.client.Watch()
	defer stop()
	for {
		if ctx.Err() != nil {
			return
		}
		f.publish(w, f.newEvent())
		// A change in the meantime leaves its value in the channel.
		select {
		case <-ctx.Done():
			return
		case <-time.After(f.every):
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
	}
}

// newEvent returns an event with the time of a change of the queue. Clients then read again.
func (f *feed) newEvent() []byte {
	return fmt.Appendf(nil, "event: change\ndata: {\"at\":%q}\n\n", inspect.New(f.client).Now().UTC().Format(time.RFC3339Nano))
}

// publish sends an event to all clients without waiting for them.
func (f *feed) publish(w *watcher, event []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.watcher != w {
		return // the last client has left
	}
	w.latest = event
	for s := range f.streams {
		select {
		case <-s.latest:
		default:
		}
		s.latest <- event // does not block: only publish sends, under mu
	}
}
