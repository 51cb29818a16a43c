package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// hang guards against tests that wait for ever; nothing is measured by it.
const hang = time.Minute

// beService makes the test binary the real service, for the tests that send it signals.
const beService = "WEBSERVICE_TEST_RUN"

func TestMain(m *testing.M) {
	if os.Getenv(beService) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// service is a shop that runs in the test's process.
type service struct {
	*shop
	url  string
	stop context.CancelFunc
	end  chan error
}

func start(t *testing.T, carrier carrier, grace time.Duration) *service {
	t.Helper()
	return startLogged(t, carrier, grace, slog.New(slog.NewTextHandler(t.Output(), nil)))
}

func startLogged(t *testing.T, carrier carrier, grace time.Duration, log *slog.Logger) *service {
	t.Helper()
	shop, err := openShop(t.Context(), filepath.Join(t.TempDir(), "shop ?#%.db"), carrier, log)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &service{shop: shop, url: "http://" + listener.Addr().String(), stop: stop, end: make(chan error, 1)}
	go func() { s.end <- shop.run(ctx, listener, grace) }()
	t.Cleanup(func() {
		stop()
		if err := shop.close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// ended stops the service, if it still runs, and returns the result of run.
func (s *service) ended(t *testing.T) error {
	t.Helper()
	s.stop()
	select {
	case err := <-s.end:
		return err
	case <-time.After(hang):
		t.Fatal("the service does not stop")
		return nil
	}
}

func post(t *testing.T, url, body string) (int, orderReceipt) {
	t.Helper()
	response, err := http.Post(url+"/orders", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	var answer orderReceipt
	if response.StatusCode == http.StatusCreated {
		if err := json.Unmarshal(data, &answer); err != nil {
			t.Fatalf("%v in %q", err, data)
		}
	}
	return response.StatusCode, answer
}

func get(t *testing.T, url string, id int64) (int, order) {
	t.Helper()
	response, err := http.Get(fmt.Sprintf("%s/orders/%d", url, id))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var o order
	if response.StatusCode == http.StatusOK {
		if err := json.NewDecoder(response.Body).Decode(&o); err != nil {
			t.Fatal(err)
		}
	}
	return response.StatusCode, o
}

func (s *service) wait(t *testing.T, id int64) jobs.Job {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	job, err := s.client.Wait(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	return job
}

func TestOrderIsShipped(t *testing.T) {
	s := start(t, label, time.Second)
	code, answer := post(t, s.url, `{"customer": "Ada", "item": "gears"}`)
	if code != http.StatusCreated || answer.ID == 0 || answer.Job == 0 {
		t.Fatalf("POST: %d %+v", code, answer)
	}
	job := s.wait(t, answer.Job)
	if job.Status != jobs.StatusDone || job.Attempt != 1 {
		t.Errorf("job %+v", job)
	}
	_, o := get(t, s.url, answer.ID)
	if o.Tracking == "" || !strings.Contains(string(job.Result), o.Tracking) {
		t.Errorf("order %+v, result %s", o, job.Result)
	}
	if err := s.ended(t); err != nil {
		t.Error(err)
	}
}

func TestBadRequests(t *testing.T) {
	s := start(t, label, time.Second)
	for _, body := range []string{
		``, `[]`, `{"customer": "", "item": "x"}`, `{"customer": "a"}`, `{"customer": "a", "item": "b", "color": "red"}`,
		`{"customer": "a", "item": "b", "tracking": "mine"}`, `{"customer": "` + strings.Repeat("a", 1<<17) + `", "item": "b"}`,
	} {
		if code, _ := post(t, s.url, body); code != http.StatusBadRequest {
			t.Errorf("POST %.60s: %d", body, code)
		}
	}
	if code, _ := get(t, s.url, 1); code != http.StatusNotFound {
		t.Errorf("GET of no order: %d", code)
	}
	s.mustCount(t, 0, 0)
}

// mustCount fails unless the database has these numbers of orders and jobs.
func (s *service) mustCount(t *testing.T, orders, jobs int) {
	t.Helper()
	for table, want := range map[string]int{"orders": orders, "sqluice_jobs": jobs} {
		var n int
		if err := s.db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM "+table).Scan(&n); err != nil {
			t.Fatal(err)
		}
		if n != want {
			t.Errorf("%d rows in %s, not %d", n, table, want)
		}
	}
}

func TestNoOrderWithoutItsJob(t *testing.T) {
	s := start(t, label, time.Second)
	_, err := s.db.ExecContext(t.Context(),
		`CREATE TRIGGER refuse BEFORE INSERT ON sqluice_jobs BEGIN SELECT RAISE(ABORT, 'no jobs today'); END`)
	if err != nil {
		t.Fatal(err)
	}
	if code, _ := post(t, s.url, `{"customer": "Ada", "item": "gears"}`); code != http.StatusInternalServerError {
		t.Errorf("POST: %d", code)
	}
	s.mustCount(t, 0, 0)
}

func TestShipmentIsWrittenOnlyWithTheJobsEnd(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	s := start(t, func(ctx context.Context, o order) (string, error) {
		entered <- struct{}{}
		<-leave
		return label(ctx, o)
	}, time.Second)
	_, answer := post(t, s.url, `{"customer": "Ada", "item": "gears"}`)
	<-entered
	// Another worker has taken the job, as far as the fence can tell.
	if _, err := s.db.ExecContext(t.Context(), `UPDATE sqluice_jobs SET attempt = attempt + 1`); err != nil {
		t.Fatal(err)
	}
	close(leave)
	if err := s.ended(t); err != nil {
		t.Error(err)
	}
	o, err := getOrder(t.Context(), s.db, answer.ID)
	if err != nil || o.Tracking != "" {
		t.Errorf("order %+v, %v: its shipment was written although the job was lost", o, err)
	}
}

func TestStopLetsARunningJobFinish(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	s := start(t, func(ctx context.Context, o order) (string, error) {
		entered <- struct{}{}
		<-leave
		return label(ctx, o)
	}, hang)
	_, answer := post(t, s.url, `{"customer": "Ada", "item": "gears"}`)
	<-entered
	s.stop()
	close(leave)
	if err := s.ended(t); err != nil {
		t.Error(err)
	}
	job, err := s.client.Get(t.Context(), answer.Job)
	if err != nil || job.Status != jobs.StatusDone {
		t.Errorf("job %+v, %v", job, err)
	}
}

// ears signals the first message that begins with a text.
type ears struct {
	slog.Handler
	text  string
	heard chan struct{}
	once  *sync.Once
}

func (e ears) Handle(ctx context.Context, r slog.Record) error {
	if strings.HasPrefix(r.Message, e.text) {
		e.once.Do(func() { close(e.heard) })
	}
	return e.Handler.Handle(ctx, r)
}

// A newer program migrates the schema: the worker ends, and requests are answered until the program is replaced.
func TestServiceOutlivesItsWorker(t *testing.T) {
	e := ears{slog.NewTextHandler(t.Output(), nil), "the worker has ended", make(chan struct{}), &sync.Once{}}
	s := startLogged(t, label, hang, slog.New(e))
	_, answer := post(t, s.url, `{"customer": "Ada", "item": "gears"}`)
	s.wait(t, answer.Job)
	for _, statement := range []string{
		`INSERT INTO sqluice_schema_versions (version, runs_from) VALUES (999, 999)`,
		`INSERT INTO sqluice_migrations (version_id, is_applied) VALUES (999, 1)`,
	} {
		if _, err := s.db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-e.heard:
	case <-time.After(hang):
		t.Fatal("the worker goes on")
	}
	if code, _ := get(t, s.url, answer.ID); code != http.StatusOK {
		t.Errorf("the order is answered by %d", code)
	}
	var schema *jobs.SchemaError
	if err := s.ended(t); !errors.As(err, &schema) {
		t.Errorf("run gives %v", err)
	}
}

func TestStopGivesAJobBackThatDoesNotFinish(t *testing.T) {
	entered := make(chan struct{})
	s := start(t, func(ctx context.Context, _ order) (string, error) {
		entered <- struct{}{}
		<-ctx.Done()
		return "", context.Cause(ctx)
	}, -1)
	_, answer := post(t, s.url, `{"customer": "Ada", "item": "gears"}`)
	<-entered
	if err := s.ended(t); err != nil {
		t.Error(err)
	}
	job, err := s.client.Get(t.Context(), answer.Job)
	if err != nil || job.Status != jobs.StatusPending || job.Attempt != 1 || job.Uncounted != 1 {
		t.Errorf("job %+v, %v: want pending with an uncounted attempt", job, err)
	}
}

func TestSIGTERM(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	command := exec.CommandContext(ctx, os.Args[0], "-addr", "127.0.0.1:0", "-db", "shop.db")
	command.Dir = t.TempDir()
	command.Env = append(os.Environ(), beService+"=1")
	stderr, err := command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stderr)
	var log bytes.Buffer
	url := ""
	for url == "" && lines.Scan() {
		fmt.Fprintln(&log, lines.Text())
		if _, address, ok := strings.Cut(lines.Text(), "address="); ok {
			url = address
		}
	}
	if url == "" {
		t.Fatalf("no address in the log: %v\n%s", command.Wait(), &log)
	}
	_, answer := post(t, url, `{"customer": "Ada", "item": "gears"}`)
	if err := command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() {
		fmt.Fprintln(&log, lines.Text())
	}
	if err := errors.Join(lines.Err(), command.Wait()); err != nil {
		t.Fatalf("the service ended with %v\n%s", err, &log)
	}

	// An acknowledged order is there for the next process, done or still to do, and no worker is left registered.
	next, err := openShop(t.Context(), filepath.Join(command.Dir, "shop.db"), label, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer next.close()
	job, err := next.client.Get(t.Context(), answer.Job)
	if err != nil || job.Status != jobs.StatusDone && job.Status != jobs.StatusPending {
		t.Errorf("job %+v, %v", job, err)
	}
	if workers, err := inspect.New(next.client).Workers(t.Context()); err != nil || len(workers) != 0 {
		t.Errorf("workers %+v, %v", workers, err)
	}
}
