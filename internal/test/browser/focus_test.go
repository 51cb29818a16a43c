package browser_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/sqluice/sqluice/admin"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
)

// focused returns the label of the focused button; empty when none has the focus.
func (b *tab) focused() string {
	b.t.Helper()
	return eval[string](b, `document.activeElement.localName === 'button' ? (document.activeElement.ariaLabel || document.activeElement.textContent) : ''`)
}

// focus focuses the element of a CSS selector, once the page follows changes.
func (b *tab) focus(selector string) {
	b.t.Helper()
	b.do(until(`!document.getElementById('live').hidden`), chromedp.Focus(chromedp.CSS(selector)))
	if b.focused() == "" {
		b.t.Fatalf("%s is no button, or does not take the focus", selector)
	}
}

// TestFocusedButtons: a page that follows a change keeps the focus on the button with the same action, also when it has
// moved, and drops it when the button is gone: no other button may get its key press.
func TestFocusedButtons(t *testing.T) {
	browser := startChromium(t)
	client := jobs.New(testdb.SQLite(t))
	b := open(t, browser, serve(t, client, admin.Config{Prefix: "/queue"}))
	_, err := client.Enqueue(t.Context(), "mail", []byte("{}"), jobs.Queue("mail"))
	must(t, err)

	b.visit("/jobs/1")
	b.focus(`button[value="cancel picked"]`)
	_, err = client.Cancel(t.Context(), 1)
	must(t, err)
	b.do(until(`!!document.querySelector('button[value="retry picked"]')`))
	if on := b.focused(); on != "" {
		t.Errorf("the focus went from Cancel to %s", on)
	}
	b.focus(`button[value="delete picked"]`)
	must(t, client.Retry(t.Context(), 1))
	b.do(until(`!!document.querySelector('button[value="cancel picked"]')`))
	if on := b.focused(); on != "Delete" {
		t.Errorf("the focus went from Delete to %q", on)
	}

	b.visit("/queues")
	b.focus(`button[aria-label="Pause mail"]`)
	_, err = client.Enqueue(t.Context(), "other", []byte("{}"), jobs.Queue("a"))
	must(t, err)
	b.do(until(`!!document.querySelector('button[aria-label="Pause a"]')`))
	if on := b.focused(); on != "Pause mail" {
		t.Errorf("the focus went from Pause mail to %q", on)
	}
	_, err = client.PauseQueue(t.Context(), "mail")
	must(t, err)
	b.do(until(`!!document.querySelector('button[aria-label="Resume mail"]')`))
	if on := b.focused(); on != "" {
		t.Errorf("the focus went from Pause mail to %s", on)
	}
	if said := b.complaints(); len(said) > 0 {
		t.Errorf("the pages complain: %q", said)
	}
}

// TestFocusedGroup: the focus stays on the button of a group of failed jobs while the order of groups in the report
// changes, and does not move to another group when this one is gone.
func TestFocusedGroup(t *testing.T) {
	browser := startChromium(t)
	client := jobs.New(testdb.SQLite(t))
	fail := func(with string, n int) {
		t.Helper()
		runner, err := jobs.NewRunner(client, jobs.Config{Logger: slog.New(slog.DiscardHandler)})
		must(t, err)
		handle(runner, "k", func(_ context.Context, _ jobs.Job, p json.RawMessage) error { return errors.New(string(p)) })
		for range n {
			_, err := client.Enqueue(t.Context(), "k", []byte(with), jobs.MaxAttempts(1))
			must(t, err)
		}
		must(t, runner.Drain(t.Context()))
	}
	fail("true", 3)
	fail("false", 2)
	b := open(t, browser, serve(t, client, admin.Config{Prefix: "/queue"}))
	b.visit("/failed")
	errorOf := `document.activeElement.closest('li')?.querySelector('.message')?.textContent`
	order := `[...document.querySelectorAll('.group .message')].map((e) => e.textContent).join()`
	b.focus(`.group:last-child button`)
	if on := eval[string](b, errorOf); on != "false" {
		t.Fatalf("the last group is %s", on)
	}
	fail("false", 2) // which are more then than of the other
	b.do(until(order + ` === 'false,true'`))
	if on := eval[string](b, errorOf+` || document.activeElement.localName`); on != "false" || b.focused() != "Retry all 4…" {
		t.Errorf("the focus is on %s of %s", b.focused(), on)
	}
	for _, id := range []int64{4, 5, 6, 7} {
		must(t, client.Retry(t.Context(), id))
	}
	b.do(until(order + ` === 'true'`))
	if on := b.focused(); on != "" {
		t.Errorf("the focus is on %s of another group", on)
	}
	if said := b.complaints(); len(said) > 0 {
		t.Errorf("the page complains: %s", fmt.Sprint(said))
	}
}
