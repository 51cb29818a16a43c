package guides_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sqluice/sqluice/admin"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

// ReportArgs is the payload of a report.
type ReportArgs struct{}

// TidyArgs is the payload of a job that tidies up.
type TidyArgs struct{}

var Report = jobs.Kind[ReportArgs]{Name: "report"}

var Tidy = jobs.Kind[TidyArgs]{Name: "tidy"}

// docs/schedules.md
func Example_schedules() {
	ctx, stop := context.WithCancel(context.Background())
	_, client, done := openShop(ctx)
	defer done()
	runner, err := jobs.NewRunner(client, jobs.Config{
		Queues: map[string]int{"default": 2, "low": 1}, Logger: slog.New(slog.DiscardHandler),
	})
	check(err)
	Report.Handle(runner, func(context.Context, jobs.Job, ReportArgs) error { return nil })
	runner.Schedule(
		Report.Cron("nightly-report", "0 2 * * *", ReportArgs{}, jobs.Zone("Europe/Berlin"), jobs.OverlapSkip),
		Tidy.Every("tidy", 90*time.Second, TidyArgs{}, jobs.Queue("low"), jobs.CatchUpNone),
	)
	stop()
	err = runner.Run(ctx) // says what is wrong with them
	fmt.Println(err)
	// Output: <nil>
}

// ChargeArgs is a payload with a secret.
type ChargeArgs struct {
	Card struct{ Number string } `json:"card"`
}

// docs/security.md
func Example_sensitive() {
	ctx := context.Background()
	_, client, done := openShop(ctx)
	defer done()
	var Charge = jobs.Kind[ChargeArgs]{Name: "charge", Sensitive: []string{"card.number", "items.*.token", "result:receipt"}}

	args := ChargeArgs{}
	args.Card.Number = "4111"
	receipt, err := Charge.Enqueue(ctx, client, args)
	check(err)
	job, err := client.Get(ctx, receipt.ID)
	check(err)
	fmt.Println(string(job.Payload))
	// Output: {"card":{"Number":"[redacted]"}}
}

// currentOperator stands for a service's own sessions.
func currentOperator(r *http.Request) (string, error) {
	if name := r.Header.Get("X-Operator"); name != "" {
		return name, nil
	}
	return "", errors.New("log in first")
}

// docs/api.md
func Example_admin() {
	ctx := context.Background()
	_, client, done := openShop(ctx)
	defer done()
	mux := http.NewServeMux()
	slog.SetLogLoggerLevel(slog.LevelError)
	handler, err := admin.New(client, admin.Config{
		Prefix: "/queue",
		Hosts:  []string{"ops.example.com"}, // by which browsers ask for the service
		Authorize: func(r *http.Request) (string, error) {
			return currentOperator(r) // the service's own
		},
	})
	check(err)
	mux.Handle("/queue/", handler) // without http.StripPrefix

	for _, operator := range []string{"", "ann"} {
		request := httptest.NewRequest(http.MethodGet, "http://ops.example.com/queue/api/admin/stats", nil)
		request.Header.Set("X-Operator", operator)
		answer := httptest.NewRecorder()
		mux.ServeHTTP(answer, request)
		fmt.Println(answer.Code)
	}
	// Output:
	// 401
	// 200
}

// docs/dashboard.md
func Example_service() {
	ctx := context.Background()
	_, client, done := openShop(ctx)
	defer done()
	handler, err := admin.New(client, admin.Config{
		Prefix:    "/queue",
		Authorize: currentOperator,
		Service:   "Orders",                // in place of "sqluice", in the corner and in titles
		BackURL:   "/admin",                // the link "Back"
		LogOutURL: "/oauth2/sign_out?rd=/", // the link "Log out"
	})
	check(err)
	request := httptest.NewRequest(http.MethodGet, "http://127.0.0.1/queue/", nil)
	request.Header.Set("X-Operator", "ann")
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, request)
	for _, part := range []string{"Orders", `href="/admin"`, `href="/oauth2/sign_out?rd=/"`} {
		fmt.Println(strings.Contains(answer.Body.String(), part))
	}
	// Output:
	// true
	// true
	// true
}

// docs/sqlite.md
func Example_open() {
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "sqluice-guide-")
	check(err)
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "jobs.db")

	store, err := sqlite.Open(ctx, path)
	check(err)
	client := jobs.New(store)

	_, err = client.Migrate(ctx)
	check(err)
	check(store.Close())
	// Output:
}
