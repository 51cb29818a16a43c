package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

// eventEvery is the shortest time between two events: people read them, and each costs a look at the database.
const eventEvery = 500 * time.Millisecond

// mostStreams is how many clients the event stream has at once when the Config does not say.
const mostStreams = 1000

// change is the data of an event: what a page needs to know of to be read again.
type change struct {
	At time.Time `json:"at"`
}

// feed tells the clients of the event stream of changes. One watcher serves them all, from the first to the last.
type feed struct {
	client *jobs.Client
	most   int
	every  time.Duration
	fault  func(error) // takes what the watcher meets

	mu      sync.Mutex
	streams map[*stream]struct{}
	watcher *watcher // nil while there is no client
	closed  bool
}

// stream is a client. latest has room for one event: a newer one takes the place of one that was not read in time.
type stream struct {
	latest chan []byte
	ended  chan struct{} // closed when the feed is
}

// watcher is one run of the goroutine that makes events.
type watcher struct {
	cancel context.CancelFunc
	ended  chan struct{}
	latest []byte
}

func newFeed(client *jobs.Client, most int, fault func(error)) *feed {
	if most == 0 {
		most = mostStreams
	}
	return &feed{client: client, most: most, every: eventEvery, fault: fault, streams: map[*stream]struct{}{}}
}

// join adds a client, which gets the latest event at once: what it has missed is in there.
func (f *feed) join() (*stream, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.closed:
		return nil, &problem{Status: http.StatusServiceUnavailable, Code: "closing", Detail: "the server is stopping"}
	case len(f.streams) >= f.most:
		return nil, &problem{Status: http.StatusServiceUnavailable, Code: "too-many-streams", Detail: fmt.Sprintf("%d clients read the event stream, and no more may", f.most)}
	}
	s := &stream{latest: make(chan []byte, 1), ended: make(chan struct{})}
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

// leave removes a client. With the last one the watcher has ended when it returns.
func (f *feed) leave(s *stream) {
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

// close ends the streams of all clients and lets no more in.
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

// watch makes an event when it begins and after changes, until ctx ends.
func (f *feed) watch(ctx context.Context, w *watcher) {
	defer close(w.ended)
	changed, stop := f.client.Watch()
	defer stop()
	for {
		data, err := f.look(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			f.fault(err)
		default:
			f.tell(w, data)
		}
		// What changes meanwhile leaves its value in the channel.
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

// look makes the data of an event.
func (f *feed) look(context.Context) ([]byte, error) {
	return json.Marshal(change{At: f.client.Store().Now().UTC()})
}

// tell gives an event to all clients, and waits for none of them.
func (f *feed) tell(w *watcher, data []byte) {
	event := slices.Concat([]byte("event: change\ndata: "), data, []byte("\n\n"))
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.watcher != w {
		return // its last client has left
	}
	w.latest = event
	for s := range f.streams {
		select {
		case <-s.latest:
		default:
		}
		s.latest <- event // nobody else puts one there
	}
}
