package admin_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqluice/sqluice/admin"
	"github.com/sqluice/sqluice/internal/receipts"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/postgres"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

// What BenchmarkBesideReaders has a process read, and for how long.
const (
	readersFor     = 30 * time.Second
	searchedJobs   = 520 // of 1 MB each
	searchClients  = 40
	streamClients  = 200
	waitingCallers = 10_000
	enqueueEvery   = 20 * time.Millisecond
)

// victimVariable names the environment variable that makes this program the worker that the benchmark kills. It holds the
// database: a path or a URL.
const victimVariable = "SQLUICE_BENCH_VICTIM"

// BenchmarkBesideReaders measures a worker whose process serves many readers at once: searches over large payloads, event
// streams and calls of Wait. It reports how long a job takes from its enqueue to its handler, and how long the runner takes to
// notice that another worker was killed, in milliseconds. `make bench-readers` runs it.
func BenchmarkBesideReaders(b *testing.B) {
	engines := []struct {
		name string
		open func(*testing.B, *jobs.Observer) (client *jobs.Client, place string)
	}{
		{"sqlite", func(b *testing.B, o *jobs.Observer) (*jobs.Client, string) {
			path := filepath.Join(b.TempDir(), "jobs.db")
			return jobs.New(testdb.OpenSQLite(b, path, sqlite.WithObserver(o))), path
		}},
		{"postgres", func(b *testing.B, o *jobs.Observer) (*jobs.Client, string) {
			url := shared.Postgres(b).Database(b)
			store, err := postgres.Open(b.Context(), url, postgres.WithObserver(o))
			need(b, err)
			b.Cleanup(func() { _ = store.Close() })
			return jobs.New(store), url
		}},
	}
	for _, engine := range engines {
		for _, readers := range []bool{false, true} {
			b.Run(fmt.Sprintf("engine=%s/readers=%t", engine.name, readers), func(b *testing.B) {
				l := &readersLab{B: b, rescued: make(chan time.Time, 1)}
				l.client, l.place = engine.open(b, &jobs.Observer{
					Rescued: func(jobs.Rescued) { l.rescued <- time.Now() },
					Queried: func(name string, _ time.Duration, _ error) {
						if name == "GetJob" {
							l.gets.Add(1)
						}
					},
				})
				migrate(b, l.client)
				l.fill()
				for b.Loop() {
					l.measure(readers)
				}
			})
		}
	}
}

type readersLab struct {
	*testing.B
	client  *jobs.Client
	place   string
	rescued chan time.Time
	waited  []int64 // jobs that do not end
	gets    atomic.Int64
	pages   atomic.Int64
	refused atomic.Int64
}

// fill adds the jobs that are waited for, and after them the large jobs, whose payloads do not compress to nothing.
func (l *readersLab) fill() {
	var err error
	payloads := slices.Repeat([]json.RawMessage{[]byte("1")}, waitingCallers)
	l.waited, err = receipts.IDs(l.client.EnqueueMany(l.Context(), "waited", payloads, jobs.In(time.Hour)))
	need(l.B, err)
	random := rand.New(rand.NewPCG(1, 2))
	payload := make([]byte, 1<<20)
	for i := range payload {
		payload[i] = "abcdefghijklmnopqrstuvwxyz012345"[random.IntN(32)]
	}
	payload[0], payload[len(payload)-1] = '"', '"'
	for range searchedJobs {
		_, err = l.client.Enqueue(l.Context(), "large", payload, jobs.Queue("other"))
		need(l.B, err)
	}
}

func (l *readersLab) measure(readers bool) {
	ctx, stop := context.WithCancel(l.Context())
	var all sync.WaitGroup
	defer all.Wait()
	defer stop()
	runner, err := jobs.NewRunner(l.client, jobs.Config{Logger: slog.New(slog.DiscardHandler)})
	need(l.B, err)
	took := make(chan time.Duration, readersFor/enqueueEvery)
	jobs.Kind[time.Time]{Name: "k"}.Handle(runner, func(_ context.Context, _ jobs.Job, enqueued time.Time) error {
		took <- time.Since(enqueued)
		return nil
	})
	all.Go(func() {
		if err := runner.Run(ctx); err != nil {
			l.Error(err)
		}
	})
	if readers {
		l.read(ctx, &all)
	}
	var crashes []time.Duration
	all.Go(func() {
		for ctx.Err() == nil {
			if took := l.crash(ctx); took > 0 {
				crashes = append(crashes, took)
			}
		}
	})

	// At a steady pace that does not depend on earlier enqueues: a stall delays all jobs of its time.
	var enqueues sync.WaitGroup
	tick := time.NewTicker(enqueueEvery)
	defer tick.Stop()
	for range cap(took) {
		<-tick.C
		now := time.Now()
		enqueues.Go(func() {
			if _, err := (jobs.Kind[time.Time]{Name: "k"}).Enqueue(ctx, l.client, now); err != nil {
				l.Error(err)
				took <- 0
			}
		})
	}
	enqueues.Wait()
	var delays []time.Duration
	for range cap(took) {
		delays = append(delays, <-took)
	}
	stop()
	all.Wait()
	slices.Sort(delays)
	slices.Sort(crashes)
	l.ReportMetric(0, "ns/op")
	l.ReportMetric(ms(delays[len(delays)/2]), "p50-ms")
	l.ReportMetric(ms(delays[len(delays)*99/100]), "p99-ms")
	l.ReportMetric(ms(delays[len(delays)-1]), "max-ms")
	l.ReportMetric(float64(len(delays)), "jobs")
	l.ReportMetric(float64(len(crashes)), "crashes")
	l.ReportMetric(float64(l.pages.Load()), "searched-pages")
	l.ReportMetric(float64(l.refused.Load()), "refused-searches")
	if len(crashes) > 0 {
		l.ReportMetric(ms(crashes[len(crashes)/2]), "crash-p50-ms")
		l.ReportMetric(ms(crashes[len(crashes)-1]), "crash-max-ms")
	}
}

// read starts the readers, which go on until ctx ends, and returns when all have begun.
func (l *readersLab) read(ctx context.Context, all *sync.WaitGroup) {
	h, err := admin.New(l.client, admin.Config{Logger: slog.New(slog.DiscardHandler)})
	need(l.B, err)
	server := httptest.NewServer(h)
	l.Cleanup(server.Close)
	l.Cleanup(h.Close)
	for _, id := range l.waited {
		all.Go(func() { _, _ = l.client.Wait(ctx, id) }) // until ctx ends
	}
	for tick := time.Tick(10 * time.Millisecond); l.gets.Load() < waitingCallers; { // each reads its job when it begins
		<-tick
	}
	for range streamClients {
		answer, err := request(ctx, server.URL+base+"/events")
		need(l.B, err)
		all.Go(func() {
			defer answer.Body.Close()
			_, _ = io.Copy(io.Discard, answer.Body) // until ctx breaks it off
		})
	}
	for i := range searchClients {
		search := []string{"queue=other&q=x", "queue=other&q=nowhere"}[i%2] // all large jobs have the one text, and none the other
		all.Go(func() {
			for query := search; ctx.Err() == nil; {
				next, status, err := searchOnce(ctx, server.URL+base+"/jobs?"+query)
				switch {
				case ctx.Err() != nil:
					return
				case err == nil && status == http.StatusOK:
					l.pages.Add(1)
				case err == nil && status == http.StatusServiceUnavailable:
					l.refused.Add(1) // it waited for others for too long
				default:
					l.Errorf("a search is answered with %d, %v", status, err)
					return
				}
				query = search
				if next != 0 {
					query += fmt.Sprint("&after=", next)
				}
			}
		})
	}
}

// searchOnce asks for a page of a search and returns where the next goes on; 0 at the end.
func searchOnce(ctx context.Context, url string) (next int64, status int, err error) {
	answer, err := request(ctx, url)
	if err != nil {
		return 0, 0, err
	}
	defer answer.Body.Close()
	var page struct{ Next int64 }
	err = json.NewDecoder(answer.Body).Decode(&page)
	return page.Next, answer.StatusCode, err
}

func request(ctx context.Context, url string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	return http.DefaultClient.Do(r)
}

// crash starts a worker in a new process and kills it. It returns how long this process's runner took to notice, and 0 when ctx
// ended.
func (l *readersLab) crash(ctx context.Context) time.Duration {
	program := exec.CommandContext(ctx, os.Args[0], "-test.run", "^TestBenchVictim$")
	program.Env = append(os.Environ(), victimVariable+"="+l.place)
	out, err := program.StdoutPipe()
	need(l.B, err)
	need(l.B, program.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	if ctx.Err() == nil && line != victimReady {
		l.Errorf("the worker to be killed says %q, %v", line, err)
	}
	killed := time.Now()
	_ = program.Process.Kill() // ctx may have done so
	_ = program.Wait()         // which says that it was killed
	select {
	case noticed := <-l.rescued:
		return noticed.Sub(killed)
	case <-ctx.Done():
		return 0
	}
}

const victimReady = "the worker runs its job\n"

// TestBenchVictim is the worker that BenchmarkBesideReaders kills: it holds a job until then. By itself it does nothing.
func TestBenchVictim(t *testing.T) {
	place := os.Getenv(victimVariable)
	if place == "" {
		return
	}
	var store jobs.Store
	var err error
	if filepath.IsAbs(place) {
		store, err = sqlite.Open(t.Context(), place)
	} else {
		store, err = postgres.Open(t.Context(), place)
	}
	must(t, err)
	client := jobs.New(store)
	const queue = "victim"
	_, err = client.Enqueue(t.Context(), queue, json.RawMessage("1"), jobs.Queue(queue))
	must(t, err)
	runner, err := jobs.NewRunner(client, jobs.Config{Queues: map[string]int{queue: 1000}, Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	jobs.Kind[int]{Name: queue}.Handle(runner, func(ctx context.Context, _ jobs.Job, _ int) error {
		fmt.Print(victimReady)
		<-ctx.Done()
		return ctx.Err()
	})
	must(t, runner.Run(t.Context()))
}

func need(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}
