package browser_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/sqluice/sqluice/admin"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
)

// TestLive: an open page follows changes of other processes, and keeps its user's work.
func TestLive(t *testing.T) {
	browser := startChromium(t)
	client := jobs.New(testdb.SQLite(t))
	enqueue := func(kind string) {
		t.Helper()
		_, err := client.Enqueue(t.Context(), kind, []byte(`{"n": 1}`), jobs.MaxAttempts(1))
		must(t, err)
	}
	b := open(t, browser, serve(t, client, admin.Config{Prefix: "/queue"}))
	stays := func(what string) {
		t.Helper()
		if !eval[bool](b, `window.stays === true`) {
			t.Errorf("%s loads the page anew", what)
		}
	}

	b.visit("/jobs")
	b.do(until(`!document.getElementById('live').hidden`))
	eval[bool](b, `window.stays = true`)
	enqueue("first")
	b.see("first #1")
	enqueue("second")
	b.see("second #2")
	if order := eval[string](b, `[...document.querySelectorAll('[data-row]')].map((a) => a.textContent).join()`); order != "second,first" {
		t.Errorf("the list has %s", order)
	}
	b.do(chromedp.Focus(chromedp.CSS(`a[href="/queue/jobs/1"]`)))
	enqueue("third")
	b.see("third #3")
	if at := eval[string](b, `document.activeElement.getAttribute('href')`); at != "/queue/jobs/1" {
		t.Errorf("the focus is on %s", at)
	}

	// Ticks stay, and the list does not change, until nothing is ticked.
	b.do(chromedp.Click(chromedp.CSS(`[name=id][value="2"]`)))
	b.see("1 job ticked")
	enqueue("fourth")
	if !eval[bool](b, `document.querySelector('[name=id][value="2"]').checked`) {
		t.Error("the tick is lost")
	}
	b.do(chromedp.Click(chromedp.CSS(`[name=id][value="2"]`)), chromedp.Focus(chromedp.CSS(`a[href="/queue/jobs/1"]`)))
	b.see("fourth #4")
	must(t, client.Delete(t.Context(), 3))
	b.do(until(`!document.body.innerText.includes('third #3')`))
	stays("the list")

	// A job whose stack the user reads.
	runner, err := jobs.NewRunner(client, jobs.Config{})
	must(t, err)
	handle(runner, "first", func(_ context.Context, _ jobs.Job, p json.RawMessage) error { return decodeImage(string(p)) })
	must(t, runner.Drain(t.Context()))
	b.visit("/jobs/1")
	b.do(until(`!document.getElementById('live').hidden`), chromedp.Click(chromedp.CSS("summary")))
	b.see("decodeImage")
	eval[bool](b, `window.stays = true`)
	must(t, client.Retry(t.Context(), 1))
	b.do(until(`document.querySelector('.head .badge').textContent === 'Pending'`))
	if !eval[bool](b, `document.querySelector('details').open`) {
		t.Error("the stack is closed")
	}
	if eval[int](b, `document.querySelectorAll('button[value="cancel picked"]').length`) != 1 {
		t.Error("the job cannot be cancelled")
	}
	stays("the job")

	// The overview, with its charts.
	b.visit("/")
	b.do(until(`!document.getElementById('live').hidden && document.querySelectorAll('.chart canvas').length === 3`))
	eval[bool](b, `window.stays = true`)
	_, err = client.Cancel(t.Context(), 2)
	must(t, err)
	b.do(until(`document.querySelector('#tile-cancelled strong').textContent === '1'`))
	b.do(until(fmt.Sprintf(`document.querySelector('#throughput .keys li:last-child strong').textContent === %q`, "1")))
	if n := eval[int](b, `document.querySelectorAll('.chart canvas').length`); n != 3 {
		t.Errorf("%d charts are drawn", n)
	}
	stays("the overview")
	if said := b.complaints(); len(said) > 0 {
		t.Errorf("the pages complain: %q", said)
	}
}
