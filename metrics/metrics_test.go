package metrics_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/metrics"
)

type labels = map[string]string

func wants(l *lab, name string, with labels, want float64) {
	l.Helper()
	if have := l.value(name, with); have != want {
		l.Errorf("%s%v is %v, not %v", name, with, have, want)
	}
}

func TestMetricsOfARun(t *testing.T) {
	l := newLab(t)
	l.enqueue("good", jobs.Unique("u"))
	l.enqueue("good", jobs.Unique("u"))
	_, err := l.client.EnqueueMany(l.ctx, "good", []json.RawMessage{json.RawMessage("1"), json.RawMessage("2")})
	l.must(err)
	l.enqueue("bad")
	l.enqueue("nobody's")
	l.crash("crashed")
	l.drain(map[string]func(context.Context, jobs.Job) error{
		"good": nothing, "crashed": nothing,
		"bad": func(context.Context, jobs.Job) error { return jobs.Discard(errors.New("broken")) },
	})
	good := labels{"queue": "default", "kind": "good"}
	wants(l, "sqluice_enqueued_jobs_total", good, 3)
	wants(l, "sqluice_enqueue_existed_total", good, 1)
	wants(l, "sqluice_attempts_total", labels{"kind": "good", "fate": "done"}, 3)
	wants(l, "sqluice_attempts_total", labels{"kind": "bad", "fate": "failed"}, 1)
	wants(l, "sqluice_attempt_errors_total", labels{"kind": "bad", "cause": "error"}, 1)
	wants(l, "sqluice_active_attempts", good, 0)
	wants(l, "sqluice_wait_seconds", good, 3)
	wants(l, "sqluice_run_seconds", good, 3)
	wants(l, "sqluice_rescued_attempts_total", labels{"reason": "crash"}, 1)
	wants(l, "sqluice_rescued_jobs_total", labels{"status": "pending"}, 1)
	wants(l, "sqluice_database_up", nil, 1)
	wants(l, "sqluice_jobs", labels{"status": "done"}, 4)
	wants(l, "sqluice_jobs", labels{"status": "failed"}, 1)
	wants(l, "sqluice_queue_jobs", labels{"queue": "default", "status": "pending"}, 1)
	wants(l, "sqluice_unhandled_jobs", labels{"queue": "default", "kind": "nobody's"}, 1)
	wants(l, "sqluice_workers", nil, 0)
	if l.value("sqluice_query_seconds", labels{"query": "ClaimJobs"}) == 0 {
		t.Error("sqluice_query_seconds has no claim")
	}
	if l.value("sqluice_oldest_pending_seconds", labels{"queue": "default", "paused": "false"}) <= 0 {
		t.Error("sqluice_oldest_pending_seconds is 0 although a job waits")
	}
	wants(l, "sqluice_oldest_pending_seconds", labels{"queue": "default", "paused": "true"}, 0)
}

// TestOldestPendingIsByQueue checks that jobs of paused queues and of paused kinds have their own time.
func TestOldestPendingIsByQueue(t *testing.T) {
	l := newLab(t)
	l.enqueue("k", jobs.Queue("paused"))
	l.enqueue("k", jobs.Queue("half"))
	l.enqueue("held", jobs.Queue("half"))
	l.enqueue("k", jobs.Queue("later"), jobs.In(time.Hour))
	for _, queue := range []string{"paused", "empty"} {
		_, err := l.client.PauseQueue(l.ctx, queue)
		l.must(err)
	}
	_, err := l.client.PauseKind(l.ctx, "half", "held")
	l.must(err)
	for _, test := range []struct {
		queue          string
		active, paused bool
	}{{"paused", false, true}, {"empty", false, false}, {"half", true, true}, {"later", false, false}} {
		active := l.value("sqluice_oldest_pending_seconds", labels{"queue": test.queue, "paused": "false"})
		paused := l.value("sqluice_oldest_pending_seconds", labels{"queue": test.queue, "paused": "true"})
		if active > 0 != test.active || paused > 0 != test.paused {
			t.Errorf("queue %s waits for %v, and for %v behind a pause", test.queue, active, paused)
		}
	}
}

// TestReadingsAreCached checks that the database is not read at each scrape.
func TestReadingsAreCached(t *testing.T) {
	l := newLab(t)
	metrics.Freeze(l.queue)
	wants(l, "sqluice_jobs", labels{"status": "pending"}, 0)
	before := l.value("sqluice_query_seconds", labels{"query": "CountJobs"})
	l.enqueue("k")
	wants(l, "sqluice_jobs", labels{"status": "pending"}, 0)
	wants(l, "sqluice_query_seconds", labels{"query": "CountJobs"}, before)
	metrics.Forget(l.queue)
	wants(l, "sqluice_jobs", labels{"status": "pending"}, 1)
}

func TestQueueThatCannotBeRead(t *testing.T) {
	l := newLab(t)
	l.must(l.store.Close())
	wants(l, "sqluice_database_up", nil, 0)
	if l.value("sqluice_database_errors_total", labels{"reason": "closed"}) < 1 {
		t.Error("the error is not counted")
	}
	if l.gather()["sqluice_jobs"] != nil {
		t.Error("sqluice_jobs is exported although the queue could not be read")
	}
}

// TestNamesAreBounded checks that the number of series is bounded for any number of queues and kinds.
func TestNamesAreBounded(t *testing.T) {
	m := metrics.New()
	told := m.Observer()
	for i := range 2000 {
		told.Enqueued(jobs.Enqueued{Queue: "q", Kind: fmt.Sprint("k", i), Jobs: 1})
	}
	told.Enqueued(jobs.Enqueued{Queue: "q", Kind: "k7", Jobs: 1})
	told.Started(jobs.Started{Queue: "q\xff", Kind: "later"}) // invalid UTF-8, and beyond the bound
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(m)
	l := &lab{T: t, registry: registry}
	if n := len(l.gather()["sqluice_enqueued_jobs_total"].GetMetric()); n != metrics.MostNames+1 {
		t.Errorf("%d series, not %d", n, metrics.MostNames+1)
	}
	wants(l, "sqluice_enqueued_jobs_total", labels{"kind": "k7"}, 2)
	wants(l, "sqluice_enqueued_jobs_total", labels{"kind": "_other"}, 2000-metrics.MostNames)
	wants(l, "sqluice_active_attempts", labels{"queue": "_other", "kind": "_other"}, 1)
}

// Queues beyond the bound share a series: it says so when any of them is paused, and not only the last.
func TestAnyPausedQueueOfManyCounts(t *testing.T) {
	l := newLab(t)
	name := func(n int) string { return fmt.Sprintf("q%04d", n) }
	for n := range metrics.MostNames + 20 {
		l.enqueue("k", jobs.Queue(name(n)))
	}
	wants(l, "sqluice_queue_paused", labels{"queue": "_other"}, 0)
	wants(l, "sqluice_queue_paused_kinds", labels{"queue": "_other"}, 0)
	_, err := l.client.PauseQueue(l.ctx, name(metrics.MostNames+3))
	l.must(err)
	for queue, kind := range map[int]string{3: "k", metrics.MostNames + 4: "k", metrics.MostNames + 5: "l"} {
		_, err := l.client.PauseKind(l.ctx, name(queue), kind)
		l.must(err)
	}
	l.registry.Unregister(l.queue)
	l.queue = metrics.NewQueue(l.client, slog.New(slog.DiscardHandler)) // with nothing read
	l.registry.MustRegister(l.queue)
	wants(l, "sqluice_queue_paused", labels{"queue": "_other"}, 1)
	wants(l, "sqluice_queue_paused", labels{"queue": name(3)}, 0)
	wants(l, "sqluice_queue_paused_kinds", labels{"queue": "_other"}, 2)
	wants(l, "sqluice_queue_paused_kinds", labels{"queue": name(3)}, 1)
	wants(l, "sqluice_queue_paused_kinds", labels{"queue": name(4)}, 0)
}

// The metric counts jobs whose changes a trigger of the application refuses, by action.
func TestRefusedJobs(t *testing.T) {
	l := newLab(t)
	rule, err := os.ReadFile("testdata/refuse_claims.sql")
	l.must(err)
	_, err = testdb.PlainSQLite(t, l.store.Path()).ExecContext(l.ctx, string(rule))
	l.must(err)
	wants(l, "sqluice_refused_jobs", labels{"action": "claim"}, 0)
	l.enqueue("unclaimed")
	l.enqueue("unclaimed")
	l.enqueue("good")
	l.drain(map[string]func(context.Context, jobs.Job) error{"unclaimed": nothing, "good": nothing})
	metrics.Forget(l.queue)
	wants(l, "sqluice_refused_jobs", labels{"action": "claim"}, 2)
	for _, action := range []string{"promote", "conflict", "renew", "end", "rescue", "prune", "expire"} {
		wants(l, "sqluice_refused_jobs", labels{"action": action}, 0)
	}
	wants(l, "sqluice_jobs", labels{"status": "done"}, 1)
	wants(l, "sqluice_jobs", labels{"status": "pending"}, 2)
}

func TestNamesThatAreInvalidUTF8(t *testing.T) {
	m := metrics.New()
	m.Observer().Started(jobs.Started{Queue: "q\xff", Kind: "k\"\n", Waited: time.Second})
	handler, err := metrics.Handler(slog.New(slog.DiscardHandler), m)
	if err != nil {
		t.Fatal(err)
	}
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	if want := `sqluice_active_attempts{kind="k\"\\n",queue="q` + "\uFFFD" + `"} 1`; answer.Code != 200 || !strings.Contains(string(text), want) {
		t.Errorf("%d without %s:\n%s", answer.Code, want, text)
	}
}

func TestHandlerRefusesDuplicateMetrics(t *testing.T) {
	m := metrics.New()
	if _, err := metrics.Handler(slog.New(slog.DiscardHandler), m, m); err == nil {
		t.Error("no error")
	}
}
