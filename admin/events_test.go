package admin_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/sqluice/sqluice/admin"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
	"github.com/sqluice/sqluice/jobs/postgres"
)

// inTwoProcesses runs a test on a queue of each engine that is opened twice, as by two processes.
func inTwoProcesses(t *testing.T, test func(t *testing.T, here, there *jobs.Client)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		store := testdb.SQLite(t)
		test(t, jobs.New(store), jobs.New(testdb.OpenSQLite(t, store.Path())))
	})
	t.Run("postgres", func(t *testing.T) {
		url := shared.Postgres(t).Database(t)
		var clients [2]*jobs.Client
		for i := range clients {
			store, err := postgres.Open(t.Context(), url)
			must(t, err)
			t.Cleanup(func() { must(t, store.Close()) })
			clients[i] = jobs.New(store)
		}
		_, err := clients[0].Migrate(t.Context())
		must(t, err)
		test(t, clients[0], clients[1])
	})
}

type change struct {
	At time.Time
}

// reader reads an event stream.
type reader struct {
	t        *testing.T
	lines    *bufio.Reader
	comments int
	schema   *jsonschema.Schema
}

func newReader(t *testing.T, body io.Reader) *reader {
	t.Helper()
	contract := readContract(t)
	schema, err := contract.compiler.Compile("openapi.json#/paths/~1api~1admin~1events/get/responses/200/content/text~1event-stream/x-event-data/change")
	must(t, err)
	return &reader{t: t, lines: bufio.NewReader(body), schema: schema}
}

// next returns the next event, checked against the contract, or an error if the stream has ended.
func (r *reader) next() (c change, err error) {
	for event := ""; ; {
		line, err := r.lines.ReadString('\n')
		if err != nil {
			return c, err
		}
		field, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		switch value = strings.TrimPrefix(value, " "); {
		case line == "\n", field == "retry":
		case field == "":
			r.comments++
		case field == "event":
			event = value
		case field == "data" && event == "change":
			data, err := jsonschema.UnmarshalJSON(strings.NewReader(value))
			if err == nil {
				err = r.schema.Validate(data)
			}
			if err != nil {
				return c, fmt.Errorf("the event %s is not as the contract says: %w", value, err)
			}
			return c, json.Unmarshal([]byte(value), &c)
		default:
			return c, fmt.Errorf("%q after the event %q", line, event)
		}
	}
}

// since reads until an event is newer than a time.
func (r *reader) since(t time.Time) error {
	for {
		c, err := r.next()
		if err != nil || !c.At.Before(t) {
			return err
		}
	}
}

// listen opens an event stream.
func listen(t *testing.T, url string, change func(*http.Request)) *reader {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+base+"/events", nil)
	must(t, err)
	if change != nil {
		change(r)
	}
	answer, err := http.DefaultClient.Do(r)
	must(t, err)
	t.Cleanup(func() { _ = answer.Body.Close() })
	if answer.StatusCode != http.StatusOK || answer.Header.Get("Content-Type") != "text/event-stream" || answer.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("the stream is answered with %s, %v", answer.Status, answer.Header)
	}
	return newReader(t, answer.Body)
}

// serveStreams serves until the end of the test, also with open streams.
func serveStreams(t *testing.T, h *admin.Handler) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	t.Cleanup(h.Close)
	return server
}

// eventually waits until a condition is true.
func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !so(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

// TestEvents checks that changes by any process make an event, and a new client gets an event at once.
func TestEvents(t *testing.T) {
	inTwoProcesses(t, func(t *testing.T, here, there *jobs.Client) {
		h := newHandler(t, here, admin.Config{})
		server := serveStreams(t, h)
		ctx, leave := context.WithCancel(t.Context())
		first := listen(t, server.URL, func(r *http.Request) { *r = *r.WithContext(ctx) })
		second := listen(t, server.URL, header("Last-Event-ID", "17"))
		tell := func(client *jobs.Client, what string, do func() error) {
			t.Helper()
			begun := inspect.New(client).Now()
			must(t, do())
			if err := errors.Join(first.since(begun), second.since(begun)); err != nil {
				t.Errorf("after %s: %v", what, err)
			}
		}
		for process, client := range []*jobs.Client{here, there} {
			tell(client, "an enqueue", func() error {
				_, err := client.Enqueue(t.Context(), "good", []byte("1"))
				return err
			})
			tell(client, "a pause", func() error {
				_, err := client.PauseQueue(t.Context(), fmt.Sprint("queue", process))
				return err
			})
			tell(client, "an end", func() error {
				run(t, client)
				return nil
			})
		}
		tell(there, "a removal", func() error { return there.Delete(t.Context(), 1) })
		if clients, watched := h.Streams(); clients != 2 || !watched {
			t.Errorf("%d clients, watched %v", clients, watched)
		}
		leave()
		eventually(t, "the client that has gone is let go of", func() bool { n, _ := h.Streams(); return n == 1 })
		tell = nil
		h.Close()
		h.Close()
		for {
			if _, err := second.next(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
		eventually(t, "no watcher runs without a client", func() bool { n, watched := h.Streams(); return n == 0 && !watched })
		a := &api{t, server.URL + base, here, readContract(t)}
		if p := a.refused(http.StatusServiceUnavailable, http.MethodGet, "/events", ""); p.Type != "urn:sqluice:problem:closing" {
			t.Errorf("a closed handler refuses with %+v", p)
		}
		get[inspect.Stats](a, http.MethodGet, "/stats", "")
		a.refused(http.StatusBadRequest, http.MethodGet, "/events?kind=k", "")
	})
}

// TestEventsKeepTheirPace checks that changes in quick succession share an event.
func TestEventsKeepTheirPace(t *testing.T) {
	client := jobs.New(testdb.SQLite(t))
	h := newHandler(t, client, admin.Config{})
	h.SetPace(time.Hour, time.Hour, time.Minute)
	server := serveStreams(t, h)
	r := listen(t, server.URL, nil)
	first, err := r.next()
	must(t, err)
	for range 10 {
		_, err := client.Enqueue(t.Context(), "k", []byte("1"))
		must(t, err)
	}
	if again, err := listen(t, server.URL, nil).next(); err != nil || again != first {
		t.Errorf("a new client gets %v, %v, want %v", again, err, first)
	}
	h.Close()
	if c, err := r.next(); !errors.Is(err, io.EOF) {
		t.Errorf("within an hour there is a second event, %v, %v", c, err)
	}
}

// TestHeartbeats checks that a stream is not silent while nothing changes.
func TestHeartbeats(t *testing.T) {
	h := newHandler(t, jobs.New(testdb.SQLite(t)), admin.Config{})
	h.SetPace(time.Hour, time.Millisecond, time.Minute)
	server := serveStreams(t, h)
	r := listen(t, server.URL, nil)
	for range 5 {
		for {
			line, err := r.lines.ReadString('\n')
			must(t, err)
			if strings.HasPrefix(line, ":") {
				break
			}
		}
	}
}

// TestStreamsAreLimited checks that clients above the limit get an answer to try again.
func TestStreamsAreLimited(t *testing.T) {
	client := jobs.New(testdb.SQLite(t))
	h := newHandler(t, client, admin.Config{Streams: 2})
	server := serveStreams(t, h)
	for range 2 {
		listen(t, server.URL, nil)
	}
	a := &api{t, server.URL + base, client, readContract(t)}
	if p := a.refused(http.StatusServiceUnavailable, http.MethodGet, "/events", ""); p.Type != "urn:sqluice:problem:too-many-streams" {
		t.Errorf("the third is refused with %+v", p)
	}
	status, header := ask(h, fromHere, [2]string{http.MethodGet, "/events"}, nil)
	if status != http.StatusServiceUnavailable || header.Get("Retry-After") == "" || header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("it is refused with %d, %v", status, header)
	}
	if _, err := admin.New(client, admin.Config{Streams: -1}); err == nil {
		t.Error("less than no streams are taken")
	}
}

// TestStreamOfHEAD checks that the answer to HEAD has no body and ends.
func TestStreamOfHEAD(t *testing.T) {
	h := newHandler(t, jobs.New(testdb.SQLite(t)), admin.Config{})
	server := serveStreams(t, h)
	answer, err := http.Head(server.URL + base + "/events")
	must(t, err)
	must(t, answer.Body.Close())
	if answer.StatusCode != http.StatusOK || answer.Header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("it is answered with %s, %v", answer.Status, answer.Header)
	}
	eventually(t, "it has ended", func() bool { n, watched := h.Streams(); return n == 0 && !watched })
}

// pipes is a listener whose connections have no buffer: a write of the server waits until the client reads.
type pipes struct{ conns chan net.Conn }

func (p pipes) Accept() (net.Conn, error) {
	conn, ok := <-p.conns
	if !ok {
		return nil, net.ErrClosed
	}
	return conn, nil
}
func (p pipes) Close() error   { close(p.conns); return nil }
func (p pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes", Net: "unix"} }

// dial opens an event stream and does not read it.
func (p pipes) dial(t *testing.T) net.Conn {
	t.Helper()
	ours, theirs := net.Pipe()
	t.Cleanup(func() { _ = ours.Close() })
	p.conns <- theirs
	_, err := fmt.Fprintf(ours, "GET %s/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n", base, token)
	must(t, err)
	return ours
}

func servePipes(t *testing.T, h *admin.Handler) pipes {
	t.Helper()
	p := pipes{make(chan net.Conn)}
	server := &http.Server{Handler: h, ReadTimeout: time.Minute, WriteTimeout: time.Minute}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(p) }()
	t.Cleanup(func() {
		must(t, server.Close())
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("the server ended with %v", err)
		}
	})
	return p
}

// TestSlowReaders checks that slow readers miss events in between and get the last one.
func TestSlowReaders(t *testing.T) {
	client := jobs.New(testdb.SQLite(t))
	h := newHandler(t, client, admin.Config{Token: token})
	h.SetPace(time.Millisecond, time.Hour, time.Minute)
	server := serveStreams(t, h)
	conn := servePipes(t, h).dial(t)
	quick := listen(t, server.URL, header("Authorization", "Bearer "+token))
	eventually(t, "both are there", func() bool { n, _ := h.Streams(); return n == 2 })
	var last time.Time
	for range 50 {
		last = inspect.New(client).Now()
		_, err := client.Enqueue(t.Context(), "k", []byte("1"))
		must(t, err)
		must(t, quick.since(last))
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil) // whose Close would read to the end
	must(t, err)
	slow := newReader(t, answer.Body)
	events := 0
	for seen := (change{}); seen.At.Before(last); events++ {
		seen, err = slow.next()
		must(t, err)
	}
	if events > 2 { // one that was being written, and the last
		t.Errorf("a client that did not read was kept %d events", events)
	}
}

// TestManyStreams checks that two hundred clients, of which a quarter never read, follow the drain of a queue. No client delays the
// others, and no goroutine or memory remains.
func TestManyStreams(t *testing.T) {
	testdb.TakesLong(t)
	const idle, reading = 50, 150
	onBothEngines(t, func(t *testing.T, client *jobs.Client) {
		h := newHandler(t, client, admin.Config{Token: token})
		h.SetPace(10*time.Millisecond, time.Hour, 20*time.Second)
		server := serveStreams(t, h)
		p := servePipes(t, h)
		before := heap()
		for range idle {
			p.dial(t)
		}
		ctx, leave := context.WithCancel(t.Context())
		defer leave()
		var readers []*reader
		for range reading {
			readers = append(readers, listen(t, server.URL, func(r *http.Request) {
				header("Authorization", "Bearer "+token)(r)
				*r = *r.WithContext(ctx)
			}))
		}
		for i := range 2000 {
			_, err := client.Enqueue(t.Context(), "good", fmt.Appendf(nil, "%d", i))
			must(t, err)
		}
		run(t, client)
		end := inspect.New(client).Now()
		_, err := client.PauseQueue(t.Context(), "q")
		must(t, err)
		seen := make(chan error, len(readers))
		var busy sync.WaitGroup
		for _, r := range readers {
			busy.Go(func() { seen <- r.since(end) })
		}
		busy.Wait()
		close(seen)
		for err := range seen {
			must(t, err)
		}
		// The stream of a reader with much to read may also have ended, after the event that it waited for.
		eventually(t, "those that do not read are let go of", func() bool { n, _ := h.Streams(); return n <= len(readers) })
		if grown := heap() - before; grown > 64<<20 {
			t.Errorf("the streams hold %d MiB", grown>>20)
		}
		leave()
		eventually(t, "all are let go of", func() bool { n, watched := h.Streams(); return n == 0 && !watched })
		eventually(t, "no goroutine is left", func() bool {
			return !bytes.Contains(stacks(), []byte("admin.(*feed)")) && !bytes.Contains(stacks(), []byte("admin.(*Handler).stream"))
		})
	})
}

// heap returns how many bytes are in use.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// stacks returns the stacks of all goroutines.
func stacks() []byte {
	text := make([]byte, 16<<20)
	return text[:runtime.Stack(text, true)]
}
