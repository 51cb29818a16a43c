package admin_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sqluice/sqluice/admin"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
)

type forgotten struct {
	Cancelled, Erased, Live int
	Schedules               []string
	Complete                bool
	Refused                 int
	Refusal                 string
}

// withUsers is a queue with a job and a schedule of a user of an odd name, and a job of another one.
func withUsers(t *testing.T, client *jobs.Client, user string) (theirs, others int64) {
	t.Helper()
	kind := jobs.Kind[string]{Name: "k"}
	must(t, client.PutSchedule(t.Context(), kind.Every("their schedule", time.Hour, "planted", jobs.UserID(user))))
	add := func(user string) int64 {
		receipt, err := client.Enqueue(t.Context(), "k", []byte(`"planted"`), jobs.UserID(user))
		must(t, err)
		return receipt.ID
	}
	return add(user), add("another")
}

const oddUser = `<a> & "b"/ü`

// wantForgotten checks that one of two jobs is erased.
func wantForgotten(t *testing.T, client *jobs.Client, theirs, others int64) {
	t.Helper()
	for id, want := range map[int64]string{theirs: `"[forgotten]"`, others: `"planted"`} {
		job, err := client.Get(t.Context(), id)
		must(t, err)
		if string(job.Payload) != want {
			t.Errorf("the payload of job %d is %s, want %s", id, job.Payload, want)
		}
	}
}

func TestForgetByTheAPI(t *testing.T) {
	onBothEngines(t, func(t *testing.T, client *jobs.Client) {
		a := serve(t, client, admin.Config{})
		theirs, others := withUsers(t, client, oddUser)
		body := fmt.Sprintf(`{"user_id": %q}`, oddUser)
		serve(t, client, admin.Config{ReadOnly: true}).refused(http.StatusForbidden, http.MethodPost, "/users/forget", body)
		for _, bad := range []string{`{}`, `{"user_id": ""}`, `{"user_id": 1}`, `{"user": "a"}`, `{"user_id": "` + strings.Repeat("x", 1001) + `"}`} {
			a.refused(http.StatusBadRequest, http.MethodPost, "/users/forget", bad)
		}
		if got := get[forgotten](a, http.MethodPost, "/users/forget", `{"user_id": "no one's"}`); got.Cancelled+got.Erased+got.Live != 0 || !got.Complete {
			t.Errorf("a user without jobs: %+v", got)
		}
		got := get[forgotten](a, http.MethodPost, "/users/forget", body)
		if fmt.Sprintf("%+v", got) != "{Cancelled:1 Erased:1 Live:0 Schedules:[their schedule] Complete:true Refused:0 Refusal:}" {
			t.Errorf("the answer is %+v", got)
		}
		wantForgotten(t, client, theirs, others)
		list := get[auditList](a, http.MethodGet, "/audit?action=forget", "")
		if len(list.Entries) != 1 || list.Entries[0].Actor != "local" {
			t.Errorf("the audit log has %+v", list.Entries)
		}
	})
}

// A request that finds a job that runs says that it is not complete.
func TestForgetBesideARunningJob(t *testing.T) {
	onBothEngines(t, func(t *testing.T, client *jobs.Client) {
		receipt, err := client.Enqueue(t.Context(), "k", []byte("{}"), jobs.UserID("7"))
		must(t, err)
		started, release := make(chan struct{}), make(chan struct{})
		runner, err := jobs.NewRunner(client, jobs.Config{Logger: slog.New(slog.DiscardHandler)})
		must(t, err)
		jobs.Kind[struct{}]{Name: "k"}.Handle(runner, func(ctx context.Context, _ jobs.Job, _ struct{}) error {
			close(started)
			<-release
			return ctx.Err()
		})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- runner.Run(ctx) }()
		<-started
		v := visit(t, client, admin.Config{})
		has(t, "beside a running job", v.send("/users/forget", url.Values{"user_id": {"7"}, "sure": {"yes"}, "back": {"/jobs"}}),
			`class="flash bad"`, "1 job has not ended: forget the user again")
		close(release)
		_, err = client.Wait(t.Context(), receipt.ID)
		must(t, err)
		has(t, "afterwards", v.send("/users/forget", url.Values{"user_id": {"7"}, "sure": {"yes"}, "back": {"/jobs"}}),
			`class="flash good"`, "0 jobs cancelled, 1 job erased")
		stop()
		must(t, <-ended)
	})
}

func TestFormOfForget(t *testing.T) {
	onBothEngines(t, func(t *testing.T, client *jobs.Client) {
		theirs, others := withUsers(t, client, oddUser)
		v := visit(t, client, admin.Config{})
		const shown = "&lt;a&gt; &amp; &#34;b&#34;/ü"
		list := "/jobs?" + url.Values{"user_id": {oddUser}}.Encode()
		has(t, "the list of the user's jobs", v.page(list), `action="/users/forget"`, shown)
		if page := v.page("/jobs"); strings.Contains(page, "users/forget") {
			t.Error("the list of all jobs has a button that forgets a user")
		}
		if page := visit(t, client, admin.Config{ReadOnly: true}).page(list); strings.Contains(page, "users/forget") {
			t.Error("the page has a button where changes are not allowed")
		}
		form := url.Values{"user_id": {oddUser}, "back": {list}}
		has(t, "the question", v.send("/users/forget", form), "Forget the user "+shown, fmt.Sprintf("#%d", theirs), "It cannot be undone")
		job, err := client.Get(t.Context(), theirs)
		must(t, err)
		if job.Status != jobs.StatusPending {
			t.Errorf("before the answer the job is %s", job.Status)
		}
		form.Set("sure", "yes")
		has(t, "the page after it", v.send("/users/forget", form), `class="flash good"`, "1 job cancelled, 1 job erased", "their schedule")
		wantForgotten(t, client, theirs, others)
		for _, without := range []url.Values{{"sure": {"yes"}}, {}, {"user_id": {""}}} {
			without.Set("back", "/jobs")
			has(t, "without a user", v.send("/users/forget", without), `class="flash bad"`, "user_id must not be empty")
		}
		// What a browser does not send: package json would make another user's name of it.
		if status, text := v.ask(http.MethodPost, "/users/forget", url.Values{"user_id": {"\xff"}, "sure": {"yes"}}); status != http.StatusBadRequest || !strings.Contains(text, "user_id must be valid UTF-8") {
			t.Errorf("invalid UTF-8 is answered with %d: %s", status, text)
		}
	})
}

// The answer has the refused jobs beside the changed ones.
func TestForgetTellsOfRefusals(t *testing.T) {
	store := testdb.SQLite(t)
	client := jobs.New(store)
	for _, kind := range []string{"stuck", "free"} {
		_, err := client.Enqueue(t.Context(), kind, []byte(`"planted"`), jobs.UserID("7"))
		must(t, err)
	}
	trigger, err := os.ReadFile("testdata/refuse_stuck_sqlite.sql")
	must(t, err)
	_, err = testdb.PlainSQLite(t, store.Path()).ExecContext(t.Context(), string(trigger))
	must(t, err)
	a := serve(t, client, admin.Config{})
	got := get[forgotten](a, http.MethodPost, "/users/forget", `{"user_id": "7"}`)
	if got.Cancelled != 1 || got.Erased != 1 || got.Live != 1 || got.Complete || got.Refused != 1 || !strings.Contains(got.Refusal, "not that one") {
		t.Errorf("the answer is %+v", got)
	}
	has(t, "the page", visit(t, client, admin.Config{}).send("/users/forget", url.Values{"user_id": {"7"}, "sure": {"yes"}, "back": {"/jobs"}}),
		`class="flash bad"`, "Not all of them", "not that one")
}
