package browser_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/sqluice/sqluice/admin"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// cssString returns a text as a string of CSS.
func cssString(text string) string {
	var out strings.Builder
	for _, r := range text {
		if r < ' ' || r == '"' || r == '\\' || r > '~' {
			fmt.Fprintf(&out, `\%x `, r)
		} else {
			out.WriteRune(r)
		}
	}
	return `"` + out.String() + `"`
}

// clickLink clicks on the link with a text.
func clickLink(text string) chromedp.Action[chromedp.Void] {
	return func(ctx context.Context, target *chromedp.Target) (chromedp.Void, error) {
		found, err := chromedp.Evaluate[bool](fmt.Sprintf(`(() => {
			const link = [...document.querySelectorAll('a')].find((a) => a.textContent.trim() === %s.trim());
			if (link) link.click();
			return !!link;
		})()`, jsString(text)))(ctx, target)
		if err == nil && !found {
			err = fmt.Errorf("there is no link %q", text)
		}
		return chromedp.Void{}, err
	}
}

func jsString(text string) string {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string can be encoded
	}
	return string(quoted)
}

// TestMendAFailure: an operator finds the failed group, reads the stack, retries all, and sees them run.
func TestMendAFailure(t *testing.T) {
	browser := startChromium(t)
	client := jobs.New(testdb.SQLite(t))
	runner, err := jobs.NewRunner(client, jobs.Config{Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	var mended atomic.Bool
	handle(runner, "resize", func(_ context.Context, j jobs.Job, p json.RawMessage) error {
		if !mended.Load() {
			return decodeImage(string(p))
		}
		return nil
	})
	handle(runner, "other", func(context.Context, jobs.Job, json.RawMessage) error { return errors.New("out of luck") })
	for range 12 {
		_, err = client.Enqueue(t.Context(), "resize", []byte("{}"), jobs.MaxAttempts(1))
		must(t, err)
	}
	_, err = client.Enqueue(t.Context(), "other", []byte("{}"), jobs.MaxAttempts(1))
	must(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- runner.Run(ctx) }()
	defer func() {
		stop()
		must(t, <-ended)
	}()
	failed := func() int64 {
		stats, err := inspect.New(client).Stats(t.Context())
		must(t, err)
		return stats.Jobs[jobs.StatusFailed]
	}
	waitFor(t, func() bool { return failed() == 13 })

	b := open(t, browser, serve(t, client, admin.Config{}))
	b.visit("/")
	b.see("Latest failures")
	b.follow("Failed 13") // with their number
	b.see("12 jobs")
	b.see("index out of range")
	b.follow("job 12")
	b.do(chromedp.Click(chromedp.CSS("summary")))
	b.see("decodeImage")
	mended.Store(true)
	b.follow("Failed 13") // with their number
	b.press(`.group:first-child button`)
	b.see("Retry 12 failed jobs, of the kind resize?")
	b.press(`.problem button`)
	b.see("12 jobs retried.")
	b.visit("/jobs?kind=resize")
	b.do(until(`document.querySelectorAll('.jobs .badge.done').length === 12`)) // without a request from here
	if said := b.complaints(); len(said) > 0 {
		t.Errorf("the pages complain: %q", said)
	}
}

// TestPauseAQueue: an operator pauses a queue, and the page of a job gives the pause as the reason.
func TestPauseAQueue(t *testing.T) {
	browser := startChromium(t)
	client := jobs.New(testdb.SQLite(t))
	added, err := client.Enqueue(t.Context(), "k", []byte("{}"), jobs.Queue("mail"))
	must(t, err)
	b := open(t, browser, serve(t, client, admin.Config{}))
	b.visit("/queues")
	b.press(`button[aria-label="Pause mail"]`)
	b.see("Queue mail is paused")
	b.visit(fmt.Sprint("/jobs/", added.ID))
	b.do(until(`document.querySelector('[data-reason="queue-paused"]')?.textContent.includes('mail')`))
	b.visit("/queues")
	b.press(`button[aria-label="Resume mail"]`)
	b.see("no longer paused")
	b.visit(fmt.Sprint("/jobs/", added.ID))
	b.do(until(`!document.querySelector('[data-reason="queue-paused"]') && !!document.querySelector('[data-reason="no-worker"]')`))
	if said := b.complaints(); len(said) > 0 {
		t.Errorf("the pages complain: %q", said)
	}
}

// TestTicks: ticked jobs are counted, and all jobs of a page are ticked at once; no button is enabled before.
func TestTicks(t *testing.T) {
	browser := startChromium(t)
	client := jobs.New(testdb.SQLite(t))
	for range 3 {
		_, err := client.Enqueue(t.Context(), "k", []byte("{}"))
		must(t, err)
	}
	b := open(t, browser, serve(t, client, admin.Config{}))
	b.visit("/jobs")
	b.see("0 jobs ticked")
	if !eval[bool](b, `document.querySelector('button[value="cancel picked"]').disabled`) {
		t.Error("a change of no job can be pressed")
	}
	b.do(chromedp.Click(chromedp.CSS(`[name=id][value="2"]`)))
	b.see("1 job ticked")
	b.do(chromedp.Click(chromedp.CSS(`[data-all]`)))
	b.see("3 jobs ticked")
	b.press(`button[value="cancel picked"]`)
	b.see("3 jobs cancelled.")
	if said := b.complaints(); len(said) > 0 {
		t.Errorf("the page complains: %q", said)
	}
}

// TestKeys: the keyboard alone reaches the content, the filter and the jobs.
func TestKeys(t *testing.T) {
	browser := startChromium(t)
	client := jobs.New(testdb.SQLite(t))
	for range 3 {
		_, err := client.Enqueue(t.Context(), "k", []byte("{}"))
		must(t, err)
	}
	b := open(t, browser, serve(t, client, admin.Config{}))
	b.visit("/jobs")
	b.do(chromedp.KeyEvent("\t"))
	if text := eval[string](b, `document.activeElement.textContent`); text != "Skip to the content" {
		t.Errorf("the first stop is %q", text)
	}
	if outline := eval[string](b, `getComputedStyle(document.activeElement).outlineStyle`); outline != "solid" {
		t.Errorf("the focus has the outline %s", outline)
	}
	for _, step := range []struct{ key, at string }{
		{"j", "/jobs/3"}, {"j", "/jobs/2"}, {"j", "/jobs/1"}, {"j", "/jobs/1"}, {"k", "/jobs/2"},
	} {
		b.do(chromedp.KeyEvent(step.key))
		if at := eval[string](b, `document.activeElement.getAttribute('href')`); at != step.at {
			t.Errorf("%s leads to %s, want %s", step.key, at, step.at)
		}
	}
	b.do(chromedp.KeyEvent("/"))
	eval[string](b, `document.activeElement.value = ''`) // the key is typed apart from being pressed here
	b.do(chromedp.KeyEvent("kj/"))
	if value := eval[string](b, `document.activeElement.name + '=' + document.activeElement.value`); value != "q=kj/" {
		t.Errorf("the filter has %q", value)
	}
}

// TestWithoutJavaScript: every change can be made.
func TestWithoutJavaScript(t *testing.T) {
	browser := startChromium(t)
	client := jobs.New(testdb.SQLite(t))
	_, err := client.Enqueue(t.Context(), "k", []byte("{}"))
	must(t, err)
	b := open(t, browser, serve(t, client, admin.Config{}))
	b.noScripts()
	b.visit("/jobs")
	b.do(chromedp.Click(chromedp.CSS(`[name=id][value="1"]`)), chromedp.Click(chromedp.CSS(`button[value="cancel picked"]`)))
	waitFor(t, func() bool {
		j, err := client.Get(t.Context(), 1)
		must(t, err)
		return j.Status == jobs.StatusCancelled
	})
	b.do(chromedp.WaitVisible(chromedp.CSS(`.flash.good`)), chromedp.Click(chromedp.CSS(`button[value="dark"]`)), chromedp.WaitVisible(chromedp.CSS(`[data-theme="dark"]`)))
}
