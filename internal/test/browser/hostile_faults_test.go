package browser_test

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/sqluice/sqluice/admin"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
)

// forget drops the tab's record of error answers, where a test expects them.
func (b *tab) forgetFaults() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.said = slices.DeleteFunc(b.said, func(text string) bool {
		return strings.HasPrefix(text, "log: Failed to load resource: the server responded with a status of 4")
	})
}

// submit makes the page send a form by POST, which a script builds from a path below the handler and fields.
func (b *tab) submit(path, encoding string, fields map[string]string) {
	b.t.Helper()
	var script strings.Builder
	fmt.Fprintf(&script, `(() => {
		const form = document.createElement('form');
		form.method = 'post';
		form.enctype = %s;
		form.action = %s;
	`, jsString(encoding), jsString(path))
	for name, value := range fields {
		fmt.Fprintf(&script, `{
			const input = document.createElement('input');
			input.type = 'hidden';
			input.name = %s;
			input.value = %s;
			form.append(input);
		}
		`, jsString(name), jsString(value))
	}
	script.WriteString(`document.body.append(form); form.submit(); return true; })()`)
	b.leave(func(ctx context.Context, target *chromedp.Target) (chromedp.Void, error) {
		_, err := chromedp.Evaluate[bool](script.String())(ctx, target)
		return chromedp.Void{}, err
	})
}

// TestHostileFaults: an error answer may quote the request's words, on a page, in a message on one, or in a problem
// document that a user opens in a browser. None of them runs anything.
func TestHostileFaults(t *testing.T) {
	browser := startChromium(t)
	client := jobs.New(testdb.SQLite(t))
	for range 2 {
		_, err := client.Enqueue(t.Context(), "k", []byte("{}"))
		must(t, err)
	}
	b := open(t, browser, serve(t, client, admin.Config{Prefix: "/queue"}))
	for _, text := range hostile {
		value := url.QueryEscape(text)
		for _, path := range []string{
			"/jobs?limit=" + value, "/jobs?" + value + "=1", "/jobs/" + url.PathEscape(text), "/audit?job=" + value, "/?range=" + value,
		} {
			b.visit(path)
			b.forgetFaults()
			b.intact(path)
		}
		for _, path := range []string{
			"/jobs?status=" + value, "/jobs?" + value + "=1", "/jobs/" + url.PathEscape(text), "/history?step_s=" + value,
		} {
			b.visit("/api/admin" + path)
			b.isText(path, "application/problem+json")
			b.forgetFaults()
			if said := b.complaints(); len(said) > 0 {
				t.Errorf("%s complains: %q", path, said)
			}
		}

		// The answers to forms.
		b.visit("/jobs?status=pending")
		b.submit("/queue/jobs/change", "application/x-www-form-urlencoded", map[string]string{"do": text, "back": "/queue/jobs"})
		b.intact("the message of a fault")
		b.do(until(`document.querySelector('.flash.bad').textContent.includes('do')`))
		b.submit("/queue/jobs/change", "application/x-www-form-urlencoded", map[string]string{"do": "retry picked", "id": text, "back": text})
		b.intact("the message of a faulty id")
		b.visit("/jobs?status=pending")
		b.submit("/queue/jobs/change", "application/x-www-form-urlencoded", map[string]string{
			"do": "cancel all", "status": "pending", "kind": text, "tag": text, "user_id": text, "queue": text, "q": text, "back": "/queue/jobs?" + url.Values{"kind": {text}}.Encode(),
		})
		b.intact("the question of a bulk change")
		b.shows("the question of a bulk change", "of the kind "+straight(text), "with the text "+straight(text))
		b.press(`.problem button`) // yes
		b.intact("the answer of a bulk change")
		b.see("0 jobs cancelled.")
		b.submit("/queue/failed/retry", "application/x-www-form-urlencoded", map[string]string{"kind": text, "error": jsString(text), "sure": "yes", "back": "/queue/failed"})
		b.intact("the answer of a retry of a group")
		b.submit("/queue/queues/pause", "application/x-www-form-urlencoded", map[string]string{"name": text + "\x00", "back": "/queue/queues"})
		b.intact("the message of a faulty name")
		for _, path := range []string{"/bulk/retry", "/jobs"} {
			b.visit("/queues")
			b.submit("/queue/api/admin"+path, "text/plain", map[string]string{text: text})
			b.forgetFaults()
			b.isText("the answer of "+path, "application/problem+json")
		}
	}
	for _, id := range []int64{1, 2} {
		if job, err := client.Get(t.Context(), id); err != nil || job.Status != jobs.StatusPending {
			t.Errorf("job %d is %s, %v", id, job.Status, err)
		}
	}
}
