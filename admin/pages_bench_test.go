package admin_test

import (
	"context"
	"database/sql"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/sqluice/sqluice/admin"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
	"github.com/sqluice/sqluice/jobs/postgres"
)

// BenchmarkPages requests each page, and the API's reads, of a queue with a long history: SQLUICE_BENCH_ROWS jobs that
// ended, 3.5 million by default. It reports the median and the 99th percentile of the durations in milliseconds.
// `make bench-pages` runs it.
func BenchmarkPages(b *testing.B) {
	rows := 3_500_000
	if text := os.Getenv("SQLUICE_BENCH_ROWS"); text != "" {
		var err error
		if rows, err = strconv.Atoi(text); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("sqlite", func(b *testing.B) {
		path := filepath.Join(b.TempDir(), "jobs.db")
		client := jobs.New(testdb.OpenSQLite(b, path))
		migrate(b, client)
		fillHistory(b, testdb.PlainSQLite(b, path), "testdata/history_sqlite.sql", rows)
		benchmarkPages(b, client, rows)
	})
	b.Run("postgres", func(b *testing.B) {
		url := shared.Postgres(b).Database(b)
		store, err := postgres.Open(b.Context(), url)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = store.Close() })
		client := jobs.New(store)
		migrate(b, client)
		pool, err := sql.Open("pgx", url)
		if err != nil {
			b.Fatal(err)
		}
		defer pool.Close()
		fillHistory(b, pool, "testdata/history_postgres.sql", rows)
		benchmarkPages(b, client, rows)
	})
}

func migrate(b *testing.B, client *jobs.Client) {
	if _, err := client.Migrate(b.Context()); err != nil {
		b.Fatal(err)
	}
}

func fillHistory(b *testing.B, pool *sql.DB, file string, rows int) {
	text, err := os.ReadFile(file)
	if err != nil {
		b.Fatal(err)
	}
	script := strings.NewReplacer(":rows", strconv.Itoa(rows), ":now", strconv.FormatInt(time.Now().UnixMicro(), 10)).Replace(string(text))
	for statement := range strings.SplitSeq(script, ";\n\n") {
		if _, err := pool.ExecContext(b.Context(), statement); err != nil {
			b.Fatalf("%v in:\n%s", err, statement)
		}
	}
}

func benchmarkPages(b *testing.B, client *jobs.Client, rows int) {
	wrong, err := inspect.New(client).Recount(b.Context()) // the counts lack rows that were not added by the library
	if err != nil || wrong == 0 {
		b.Fatalf("the counts of %d rows were put right in %d places, %v", rows, wrong, err)
	}
	h, err := admin.New(client, admin.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(h.Close)
	server := httptest.NewServer(h)
	b.Cleanup(server.Close)
	for _, path := range []string{
		"/", "/?range=day", "/jobs", "/jobs?status=failed", "/jobs?status=pending", "/jobs?status=done&kind=kind-3", "/jobs/" + strconv.Itoa(rows/35*35), "/failed", "/queues", "/workers", "/audit",
		base + "/jobs", base + "/jobs?status=failed", base + "/jobs?status=failed&kind=kind-5", base + "/jobs?status=done&kind=none",
		base + "/jobs?user_id=user-7", base + "/jobs?q=error", base + "/jobs/" + strconv.Itoa(rows/35*35), base + "/failed", base + "/failed?kind=kind-5", base + "/stats", base + "/queues",
		base + "/history", base + "/history?step_s=900&since=" + time.Now().UTC().Add(-24*time.Hour).Format(time.RFC3339),
	} {
		b.Run("path="+strings.NewReplacer("/", "|").Replace(path), func(b *testing.B) {
			var took []time.Duration
			for b.Loop() {
				began := time.Now()
				askFor(b, b.Context(), server.URL+path)
				took = append(took, time.Since(began))
			}
			slices.Sort(took)
			b.ReportMetric(ms(took[len(took)/2]), "p50-ms")
			b.ReportMetric(ms(took[len(took)*99/100]), "p99-ms")
		})
	}
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func askFor(b *testing.B, ctx context.Context, url string) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		b.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		b.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		b.Fatalf("%s is answered with %d, %v: %s", url, answer.StatusCode, err, text)
	}
}
