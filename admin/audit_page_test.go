package admin_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/sqluice/sqluice/admin"
	"github.com/sqluice/sqluice/jobs"
)

// TestAuditOfSchedules checks that the entry of a schedule has a link to it, and the rest of its detail beside.
func TestAuditOfSchedules(t *testing.T) {
	onBothEngines(t, func(t *testing.T, client *jobs.Client) {
		v := visit(t, client, admin.Config{Prefix: "/queue"})
		ctx := jobs.WithActor(t.Context(), "ann")
		put := func(spec string) {
			t.Helper()
			must(t, client.PutSchedule(ctx, jobs.NewSchedule("each <day>", spec, "report", []byte("{}"))))
		}
		put("0 4 * * *")
		put("0 5 * * *")
		page := v.page("/audit")
		has(t, "the list", page,
			`id="entry-2"`, `href="/queue/schedules/each%20%3Cday%3E"><bdi>each &lt;day&gt;</bdi></a>`, `{&#34;after&#34;:{`, `0 5 * * *`,
			`id="entry-1"`, `href="/queue/schedules/each%20%3Cday%3E"><bdi>each &lt;day&gt;</bdi></a>`, `<td class="text"></td>`)
		if strings.Contains(page, "&#34;schedule&#34;") {
			t.Errorf("the name stands in a detail once more:\n%s", page)
		}
	})
}

// TestAuditPage checks that the page lists changes with user, action, time and job, newest first, page by page.
func TestAuditPage(t *testing.T) {
	onBothEngines(t, func(t *testing.T, client *jobs.Client) {
		v := visit(t, client, admin.Config{Prefix: "/queue", Authorize: func(*http.Request) (string, error) { return "ann <b>", nil }})
		has(t, "without changes", v.page("/audit"), `href="/queue/audit" aria-current="page"`, "There are no changes yet.")
		for range 8 {
			_, err := client.Enqueue(t.Context(), "k", []byte("{}"))
			must(t, err)
		}
		_, err := client.PauseQueue(jobs.WithActor(t.Context(), "cli:bob"), "mail")
		must(t, err)
		v.send("/jobs/change", url.Values{"do": {"cancel picked"}, "id": {"3"}, "back": {"/queue/jobs"}})
		v.send("/jobs/change", url.Values{"do": {"cancel all"}, "status": {"pending"}, "kind": {"k"}, "sure": {"yes"}, "back": {"/queue/jobs"}})
		page := v.page("/audit")
		has(t, "the list", page, "<h1>Audit</h1>",
			`id="entry-3"`, `href="/queue/audit?actor=ann&#43;%3Cb%3E" data-row>ann &lt;b&gt;</a>`, ">cancel<", `7 jobs: <a href="/queue/jobs/`, "…", "{&#34;filter&#34;:{&#34;kind&#34;:&#34;k&#34;,&#34;status&#34;:&#34;pending&#34;}}", "<time datetime=",
			`id="entry-2"`, ">cancel<", `href="/queue/jobs/3">job 3</a>`, "</span> <bdi>k</bdi>", "</span> <bdi>default</bdi>", "<time datetime=",
			`id="entry-1"`, ">cli:bob<", ">pause<", "</span> <bdi>mail</bdi>", "</tbody>")
		if strings.Contains(page, `rel="next"`) || strings.Contains(page, `method="post" action="/queue/jobs`) {
			t.Errorf("the page has a next one, or something to press:\n%s", page)
		}
		// Page by page, each entry once.
		entry := regexp.MustCompile(`id="entry-(\d+)"`)
		older := regexp.MustCompile(`rel="next" href="/queue([^"]*)"`)
		var seen []string
		for path := "/audit?limit=1"; path != ""; {
			page := v.page(path)
			path = ""
			for _, m := range entry.FindAllStringSubmatch(page, -1) {
				seen = append(seen, m[1])
			}
			if m := older.FindStringSubmatch(page); m != nil {
				path = strings.ReplaceAll(m[1], "&amp;", "&")
			} else {
				has(t, "the end", page, "There is nothing older.", `href="/queue/audit">Show all</a>`)
			}
		}
		if fmt.Sprint(seen) != "[3 2 1]" {
			t.Errorf("on all pages there are %v", seen)
		}
		for query, want := range map[string]string{"actor=cli:bob": "[1]", "action=cancel": "[3 2]", "job=3": "[2]", "job=8": "[3]", "actor=&action=&job=": "[3 2 1]", "actor=nobody": "[]"} {
			page, have := v.page("/audit?"+query), []string{}
			for _, m := range entry.FindAllStringSubmatch(page, -1) {
				have = append(have, m[1])
			}
			if fmt.Sprint(have) != want {
				t.Errorf("%s gives %v, want %s", query, have, want)
			}
		}
		has(t, "the filter", v.page("/audit?actor=ann+%3Cb%3E&action=cancel&job=3"), `value="ann &lt;b&gt;"`, "<option selected>cancel</option>", `name="job" value="3"`, ">Clear</a>")
		has(t, "of nothing", v.page("/audit?actor=nobody"), "No entry matches.")
		has(t, "the job", v.page("/jobs/3"), `href="/queue/audit?job=3">Who changed it`)
		for _, query := range []string{"job=x", "after=0", "limit=201", "who=x"} {
			if status, _ := v.ask(http.MethodGet, "/audit?"+query, nil); status != http.StatusBadRequest {
				t.Errorf("%s is answered with %d", query, status)
			}
		}
	})
}
