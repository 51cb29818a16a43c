package admin_test

import (
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/sqluice/sqluice/admin"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
)

// linkOf returns the rest of the URL of a link in a page, after a prefix.
func (v *visitor) linkOf(page, after string) string {
	v.t.Helper()
	_, rest, found := strings.Cut(page, after)
	link, _, ended := strings.Cut(rest, `"`)
	if !found || !ended {
		v.t.Fatalf("there is no link after %s in %s", after, page)
	}
	return html.UnescapeString(link)
}

func TestSchedulePages(t *testing.T) {
	onBothEngines(t, func(t *testing.T, client *jobs.Client) {
		v := visit(t, client, admin.Config{Prefix: "/queue"})
		has(t, "the list without schedules", v.page("/schedules"), "There is no schedule.", "sqluice schedules put")
		must(t, client.PutSchedule(t.Context(), jobs.NewSchedule("nightly", "* * * * *", "report", json.RawMessage(`{"n": [1]}`), jobs.Zone("Europe/Berlin"), jobs.OverlapSkip, jobs.Tags("red"))))
		has(t, "the list", v.page("/schedules"), `aria-current="page"`, `href="/queue/schedules/nightly"`, ">Active<", `href="/queue/jobs?kind=report"`,
			"* * * * *", "Europe/Berlin", `class="week"`, `title="`, `<strong>100&#43;</strong>`)
		page := v.page("/schedules/nightly")
		has(t, "the schedule", page, `href="/queue/schedules"`, "<bdi>nightly</bdi>", ">Active<", ">Run now<", ">Pause<", ">Delete<", `class="week"`, "There was no tick yet",
			"&#34;n&#34;: [\n", "Options of its jobs", "&#34;red&#34;", ">report<", "Europe/Berlin", "latest", "skip", "at run time")
		form := func(do string, more ...string) url.Values {
			fields := url.Values{"name": {"nightly"}, "do": {do}, "back": {"/queue/schedules/nightly"}}
			for _, name := range more {
				fields.Set(name, "yes")
			}
			return fields
		}
		has(t, "the list without a worker", v.page("/schedules"), ">No worker<")
		has(t, "the schedule without a worker", page, ">No worker<", `id="no-worker">No live worker takes jobs of the kind &#34;report&#34; from queue &#34;default&#34;: the jobs of the schedule wait.`)
		has(t, "after a run", v.send("/schedules/change", form("run")), `class="flash good"`, "Schedule nightly runs at once, as job 1.", "<bdi>nightly</bdi>", "Run at once", `href="/queue/jobs/1"`)
		has(t, "its job", v.page("/jobs/1"), "<dt>Schedule</dt>", `href="/queue/schedules/nightly"`, "<dt>Tick</dt>")
		has(t, "after a pause", v.send("/schedules/change", form("pause")), "Schedule nightly is paused", ">Paused<", ">Resume<", `class="week idle"`, "It is paused")
		paused := v.page("/schedules")
		has(t, "the list with a paused one", paused, ">Paused<")
		if strings.Contains(paused, "No worker") {
			t.Errorf("a paused schedule is said to want a worker:\n%s", paused)
		}
		has(t, "after it is resumed", v.send("/schedules/change", form("resume")), "no longer paused", ">Active<")
		has(t, "the question", v.send("/schedules/change", form("delete")), "Delete the schedule nightly?", "This cannot be undone", `action="/queue/schedules/change"`,
			`name="do" value="delete"`, `name="name" value="nightly"`, `name="sure" value="yes"`, `href="/queue/schedules/nightly"`)
		has(t, "another button", v.send("/schedules/change", form("burn")), `class="flash bad"`, "the value of a button of the page")
		has(t, "without a name", v.send("/schedules/change", url.Values{"do": {"delete"}, "back": {"/queue/schedules"}}), `class="flash bad"`, "schedule name")
		has(t, "after the removal", v.send("/schedules/change", form("delete", "sure")), "Schedule nightly is deleted", "There is no schedule.")
		for _, do := range []string{"run", "pause", "resume", "delete"} {
			if status, text := v.ask(http.MethodPost, "/schedules/change", form(do, "sure")); status != http.StatusNotFound {
				t.Errorf("%s of a schedule that is gone leads to %d: %s", do, status, text)
			}
		}
		if status, _ := v.ask(http.MethodGet, "/schedules/nightly", nil); status != http.StatusNotFound {
			t.Errorf("its page is answered with %d", status)
		}
	})
}

// TestSchedulesWithoutTicks checks that pages show why a schedule gives no jobs.
func TestSchedulesWithoutTicks(t *testing.T) {
	store := testdb.SQLite(t)
	text, err := os.ReadFile("testdata/schedules_sqlite.sql")
	must(t, err)
	_, err = testdb.PlainSQLite(t, store.Path()).ExecContext(t.Context(), string(text))
	must(t, err)
	client := jobs.New(store)
	v := visit(t, client, admin.Config{})
	const fault = "specification &#34;now and then&#34;: &lt;it&gt; is none"
	has(t, "the list", v.page("/schedules"), ">broken<", `title="`+fault+`">Fault<`, `<p class="error">`+fault, ">unknown<", ">gone<", ">No worker declares it<", `class="week idle"`)
	has(t, "the page of a faulty one", v.page("/schedules/broken"), `id="fault">`+fault, "could not enqueue")
	has(t, "the page of one without a worker", v.page("/schedules/gone"), "No live worker declares it", "in code, by no live worker")
	has(t, "the question", v.send("/schedules/change", url.Values{"name": {"gone"}, "do": {"delete"}, "back": {"/schedules"}}), "adds it again when it starts")
	has(t, "a run with a fault", v.send("/schedules/change", url.Values{"name": {"odd"}, "do": {"run"}, "back": {"/schedules"}}), `class="flash bad"`, "options: unknown")

	a := serve(t, client, admin.Config{})
	states := ""
	for _, s := range get[scheduleList](a, http.MethodGet, "/schedules", "").Schedules {
		states += s.Name + " " + s.Status + "; "
	}
	if want := "broken faulty; gone undeclared; odd faulty; "; states != want {
		t.Errorf("the states are %q, not %q", states, want)
	}
	if p := a.refused(http.StatusConflict, http.MethodPost, "/schedules/odd/run", ""); p.Type != "urn:sqluice:problem:schedule-fault" {
		t.Errorf("the refusal is %+v", p)
	}
}

// TestPagesOfManySchedules checks that the links at the end of the list lead to the other schedules and back.
func TestPagesOfManySchedules(t *testing.T) {
	client := jobs.New(testdb.SQLite(t))
	for i := range 51 {
		must(t, client.PutSchedule(t.Context(), jobs.NewSchedule(fmt.Sprintf("s&%02d", i), "@daily", "k", json.RawMessage("{}"))))
	}
	v := visit(t, client, admin.Config{})
	first := v.page("/schedules")
	has(t, "the first page", first, ">s&amp;00<", ">s&amp;49<", `rel="next" href="/schedules?after=s%2649"`)
	second := v.page("/schedules?after=s%2649")
	has(t, "the second page", second, ">s&amp;50<", `href="/schedules">First<`)
	if strings.Contains(first, ">s&amp;50<") || strings.Contains(second, ">s&amp;49<") || strings.Contains(second, `rel="next"`) {
		t.Error("the pages overlap")
	}
	has(t, "beyond the last page", v.page("/schedules?after=z"), "There are no more schedules", ">First<")
}

// TestPagesOfStrangeSchedules checks that the link of each schedule leads to its page, and the form there to the same page.
func TestPagesOfStrangeSchedules(t *testing.T) {
	client := jobs.New(testdb.SQLite(t))
	for _, prefix := range []string{"", "/queue"} {
		v := visit(t, client, admin.Config{Prefix: prefix})
		for i, name := range strangeNames() {
			must(t, client.PutSchedule(t.Context(), jobs.NewSchedule(name, "@daily", fmt.Sprint("kind-", i), json.RawMessage("{}"))))
			list := v.page("/schedules")
			if strings.Contains(list, "<script>alert") {
				t.Fatalf("%q is not escaped: %s", name, list)
			}
			link := v.linkOf(list, `<th scope="row"><a href="`)
			// A browser removes these segments, also escaped, before it sends a request.
			for segment := range strings.SplitSeq(strings.TrimPrefix(link, prefix), "/") {
				if plain := strings.ReplaceAll(strings.ToLower(segment), "%2e", "."); plain == "." || plain == ".." {
					t.Errorf("the link of %q is %s", name, link)
				}
			}
			kind := fmt.Sprintf(`href="%s/jobs?kind=kind-%d"`, prefix, i)
			page := v.page(strings.TrimPrefix(link, prefix))
			has(t, "the page of "+name, page, `class="badge done"`, kind)
			paused := v.send("/schedules/change", url.Values{"name": {name}, "do": {"pause"}, "back": {v.linkOf(page, `name="back" value="`)}})
			has(t, "the paused page of "+name, paused, `class="flash good"`, `class="badge paused"`, `id="do-resume"`, kind)
			must(t, errDelete(t, client, name))
		}
	}
}

func errDelete(t *testing.T, client *jobs.Client, name string) error {
	t.Helper()
	found, err := client.DeleteSchedule(t.Context(), name)
	if err == nil && !found {
		err = fmt.Errorf("there is no schedule %q", name)
	}
	return err
}
