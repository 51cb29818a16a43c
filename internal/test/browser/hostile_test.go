package browser_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/sqluice/sqluice/admin"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

// hostile are texts that take effect in a page that does not escape them.
var hostile = []string{
	`<script>window.taken=1</script>`,
	`</script><script>window.taken=1</script>`,
	`"><script>window.taken=1</script>`,
	`'><img src=x onerror="window.taken=1">`,
	`<img src=x onerror=alert(1)>`,
	`<svg/onload=alert(1)>`,
	`" autofocus onfocus="alert(1)" x="`,
	`' onmouseover='alert(1)' x='`,
	`</title></style></textarea><script>window.taken=1</script>`,
	`--><script>window.taken=1</script><!--`,
	`javascript:alert(1)`,
	`<a href="javascript:alert(1)">press</a>`,
	`<iframe srcdoc="<script>parent.taken=1</script>"></iframe>`,
	`<meta http-equiv="refresh" content="0;url=//evil.example.com/">`,
	`<base href="//evil.example.com/">`,
	`<form action="//evil.example.com/"><button>press</button></form>`,
	`<style>*{display:none}</style>`,
	`<link rel=stylesheet href=//evil.example.com/x.css>`,
	`{{.}}${alert(1)}#{alert(1)}<%= 1 %>`,
	"\u2028\u2029<scr\u202eipt>window.taken=1</scr\u202eipt>",
	`&lt;script&gt;window.taken=1&lt;/script&gt;`,
	`<math><mtext></form><mglyph><style></math><img src onerror=alert(1)>`,
	`../../../static/x?a=1&b=2#c%2F%00`,
}

// straight returns the form of a text in messages and questions, where nothing may reverse their words.
func straight(text string) string { return strings.ReplaceAll(text, "\u202e", "\uFFFD") }

// hostileQueue has each of the texts in every field that a job, its errors, its queue and its worker have.
func hostileQueue(t *testing.T) (*jobs.Client, *sqlite.Store) {
	t.Helper()
	store := testdb.SQLite(t)
	client := jobs.New(store)
	config := jobs.Config{Queues: map[string]int{}, Logger: slog.New(slog.DiscardHandler)}
	for _, text := range hostile {
		config.Queues[text] = 1
	}
	runner, err := jobs.NewRunner(client, config)
	must(t, err)
	for i, text := range hostile {
		handle(runner, text, func(ctx context.Context, j jobs.Job, _ json.RawMessage) error {
			value := map[string]string{text: text}
			if err := errors.Join(j.SetProgress(ctx, value), j.SetResult(value)); err != nil {
				return err
			}
			if j.MaxAttempts == 1 {
				return errors.New(text)
			}
			return nil
		})
		payload, err := json.Marshal(map[string]string{text: text})
		must(t, err)
		options := []jobs.EnqueueOption{
			jobs.Queue(text), jobs.Tags(text), jobs.UserID(text), jobs.Metadata(map[string]string{text: text}),
		}
		for n, more := range [][]jobs.EnqueueOption{
			{jobs.MaxAttempts(1), jobs.Unique(text), jobs.RequestID(text)}, // fails
			{jobs.MaxAttempts(2)}, // ends well
			{jobs.In(time.Hour)},  // waits
		} {
			added, err := client.Enqueue(t.Context(), text, payload, append(options, more...)...)
			must(t, err)
			if want := int64(3*i + n + 1); added.ID != want {
				t.Fatalf("job %d has the id %d", want, added.ID)
			}
		}
	}
	must(t, runner.Drain(t.Context()))
	for i, text := range hostile {
		execute(t, store, "hostile_worker.sql", text)
		execute(t, store, "hostile_stack.sql", text, 3*i+1)
		must(t, client.PutSchedule(jobs.WithActor(t.Context(), text), jobs.NewSchedule(text, "@daily", text, json.RawMessage("{}"), jobs.Queue(text), jobs.Tags(text))))
		_, err = client.PauseQueue(jobs.WithActor(t.Context(), text), text)
		must(t, err)
		other, err := client.Enqueue(t.Context(), "other", []byte("{}"), jobs.Queue("other"))
		must(t, err)
		_, err = inspect.New(client).CancelMany(jobs.WithActor(t.Context(), text), []int64{other.ID}, jobs.AuditDetail(map[string]any{"filter": map[string]string{"q": text}}))
		must(t, err)
	}
	return client, store
}

// intact fails unless a page consists of the templates' elements, and no other script has run.
func (b *tab) intact(path string) {
	b.t.Helper()
	found := eval[[]string](b, `(() => {
		const found = [];
		if (window.taken !== undefined) found.push('a script ran');
		for (const e of document.querySelectorAll('*')) {
			const name = e.localName;
			if (['img', 'iframe', 'object', 'embed', 'base', 'style', 'math', 'mglyph', 'template'].includes(name)) found.push(e.outerHTML);
			if (name === 'script' && (e.textContent || !new URL(e.src).pathname.startsWith('/queue/static/'))) found.push(e.outerHTML);
			if (name === 'meta' && e.httpEquiv) found.push(e.outerHTML);
			if (name === 'link' && !new URL(e.href).pathname.startsWith('/queue/static/')) found.push(e.outerHTML);
			if (name === 'form' && !new URL(e.getAttribute('action'), location).href.startsWith(location.origin + '/queue/')) found.push(e.outerHTML);
			if (name === 'a' && !e.href.startsWith(location.origin + '/queue/')) found.push(e.outerHTML);
			// What turns text around turns no more than itself around.
			for (const n of e.childNodes) {
				if (!e.closest('main, .flash') || e.closest('select, datalist') || n.nodeType !== Node.TEXT_NODE || !/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/.test(n.data)) continue;
				const beside = [...e.childNodes].filter((c) => c !== n && c.textContent.trim());
				if (!getComputedStyle(e).unicodeBidi.startsWith('isolate') || beside.length > 0) found.push('turned: ' + e.outerHTML);
			}
			for (const a of e.attributes) if (a.name.startsWith('on') || a.name === 'style' && !e.closest('.uplot')) found.push(e.outerHTML);
		}
		return found;
	})()`)
	if len(found) > 0 {
		b.t.Errorf("%s has %q", path, found)
	}
	if said := b.complaints(); len(said) > 0 {
		b.t.Errorf("%s complains: %q", path, said)
	}
}

// shows fails unless a page shows each of the texts unchanged.
func (b *tab) shows(path string, texts ...string) {
	b.t.Helper()
	page := eval[string](b, `document.body.textContent`)
	for _, text := range texts {
		if !strings.Contains(page, text) {
			b.t.Errorf("%s does not show %q", path, text)
		}
	}
}

// TestHostileTexts: each page shows every text of every field unchanged.
func TestHostileTexts(t *testing.T) {
	browser := startChromium(t)
	client, _ := hostileQueue(t)
	for _, text := range hostile {
		must(t, client.SetLimit(t.Context(), strings.Join(strings.Fields(text), " "), text, jobs.LimitValues{Running: 1}))
	}
	b := open(t, browser, serve(t, client, admin.Config{Prefix: "/queue"}))
	for _, path := range []string{"/jobs?limit=200", "/jobs?status=failed&limit=200", "/failed", "/queues", "/limits", "/schedules", "/workers", "/audit?limit=200"} {
		b.visit(path)
		b.intact(path)
		for _, text := range hostile {
			// A list has one line of an error, and the beginning of a payload.
			b.shows(path, strings.Join(strings.Fields(text), " "))
		}
	}
	b.visit("/")
	b.intact("/")
	for i, text := range hostile {
		for n := range 3 {
			path := fmt.Sprint("/jobs/", 3*i+n+1)
			b.visit(path)
			b.intact(path)
			if n == 0 {
				b.shows(path, text)
				if stack := eval[string](b, `document.querySelector('details pre').textContent`); stack != text {
					t.Errorf("%s shows the stack %q", path, stack)
				}
				if message := eval[string](b, `document.querySelector('.message').textContent`); message != text {
					t.Errorf("%s shows the error %q", path, message)
				}
			}
			// JSON escapes some of them differently; the shown text must mean the same.
			for _, part := range []string{"payload", "metadata", "progress", "result"}[:map[int]int{0: 3, 1: 4, 2: 2}[n]] {
				shown := eval[string](b, fmt.Sprintf(`document.querySelector('#%s pre').textContent`, part))
				var value map[string]string
				if err := json.Unmarshal([]byte(shown), &value); err != nil || value[text] != text {
					t.Errorf("%s shows the %s %s, %v", path, part, shown, err)
				}
			}
		}
		path := "/jobs?" + url.Values{"kind": {text}, "tag": {text}, "user_id": {text}, "queue": {text}}.Encode()
		b.visit(path)
		b.intact(path)
		for _, field := range []string{"kind", "tag", "user_id", "queue"} {
			if value := eval[string](b, fmt.Sprintf(`document.querySelector('.filter [name=%s]').value`, field)); value != text {
				t.Errorf("%s fills the filter's %s with %q", path, field, value)
			}
		}
		if rows := eval[int](b, `document.querySelectorAll('#list tbody tr').length`); rows != 3 {
			t.Errorf("%s lists %d jobs", path, rows)
		}
		// The message, a question, and a link to a list that a page made.
		b.visit("/queues")
		b.press(fmt.Sprintf(`button[aria-label=%s]`, cssString("Resume "+text)))
		b.intact("the message")
		b.shows("the message", "Queue "+straight(text)+" is no longer paused")
		b.follow(text)
		if rows := eval[int](b, `document.querySelectorAll('#list tbody tr').length`); rows != 3 {
			t.Errorf("the link of the queue %s leads to %d jobs", jsString(text), rows)
		}
		b.visit("/schedules")
		b.follow(text)
		b.press("#do-pause")
		b.intact("the page of a schedule")
		b.shows("the page of a schedule", "Schedule "+straight(text)+" is paused", text)
		b.press("#do-delete")
		b.intact("the question of a schedule")
		b.shows("the question of a schedule", "Delete the schedule "+straight(text))
		b.visit("/jobs?" + url.Values{"kind": {text}, "status": {"scheduled"}}.Encode())
		b.press(`button[value="delete all"]`)
		b.intact("the question")
		b.shows("the question", "of the kind "+straight(text))
	}
}

// TestHostileAnswers: an answer of the API that a user opens in a browser runs nothing.
func TestHostileAnswers(t *testing.T) {
	browser := startChromium(t)
	client, _ := hostileQueue(t)
	b := open(t, browser, serve(t, client, admin.Config{Prefix: "/queue"}))
	for _, path := range []string{"/jobs", "/jobs/1", "/failed", "/queues", "/schedules", "/workers", "/stats", "/jobs/1/why", "/audit", "/history"} {
		b.visit("/api/admin" + path)
		b.isText(path, "application/json")
		if said := b.complaints(); len(said) > 0 {
			t.Errorf("%s complains: %q", path, said)
		}
	}
}

// isText fails unless the tab shows text of a type, and nothing else.
func (b *tab) isText(what, mediaType string) {
	b.t.Helper()
	if got := eval[string](b, `document.contentType`); got != mediaType {
		b.t.Errorf("%s is %s", what, got)
	}
	if got := eval[bool](b, `window.taken === undefined && !document.querySelector('script, img, iframe, svg, form, a, style, base, math')`); !got {
		b.t.Errorf("%s is more than text", what)
	}
}
