package browser_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/sqluice/sqluice/admin"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
)

// setLimit fills in the form of a limit and sends it.
func setLimit(kind, key string, running int) chromedp.Action[chromedp.Void] {
	return func(ctx context.Context, target *chromedp.Target) (chromedp.Void, error) {
		_, err := chromedp.Evaluate[bool](fmt.Sprintf(`(() => {
			const values = {kind: %s, key: %s, running: %d};
			for (const name in values) document.querySelector('#limit [name=' + name + ']').value = values[name];
			document.querySelector('#limit button').click();
			return true;
		})()`, jsString(kind), jsString(key), running))(ctx, target)
		return chromedp.Void{}, err
	}
}

// TestLimitAKind: an operator limits a kind, sees which key has no room, gives that key more room and takes it back.
func TestLimitAKind(t *testing.T) {
	browser := startChromium(t)
	client := jobs.New(testdb.SQLite(t))
	must(t, client.SetLimit(t.Context(), "charge", "closed", jobs.LimitValues{Running: 5}))
	runner, err := jobs.NewRunner(client, jobs.Config{Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	release := make(chan struct{})
	handle(runner, "charge", func(_ context.Context, j jobs.Job, _ json.RawMessage) error {
		if *j.LimitKey == "closed" {
			return jobs.Throttle(time.Hour)
		}
		<-release
		return nil
	})
	b := open(t, browser, serve(t, client, admin.Config{}))
	b.visit("/limits")
	b.leave(setLimit("charge", "", 1))
	b.see("The limit for each key of the kind charge is set.")
	for _, key := range []string{"acme", "acme", "acme", "closed"} {
		_, err = client.Enqueue(t.Context(), "charge", []byte("{}"), jobs.LimitKey(key))
		must(t, err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- runner.Run(ctx) }()
	row := func(key string) string {
		return `[...document.querySelectorAll('#limit-keys tbody tr')].find((r) => r.querySelector('th').textContent === '` + key + `')`
	}
	b.do(until(row("acme") + `?.textContent.includes('when a job of the key ends')`)) // without a request from here
	b.do(until(row("closed") + `?.textContent.includes('Closed')`))
	b.leave(setLimit("charge", "acme", 2))
	b.see("The limit for the key acme of the kind charge is set.")
	b.do(until(row("acme") + `?.querySelector('[data-label="Running"]').textContent === '2 of 2'`))
	b.press(`button[aria-label="Delete the limit for the key acme of the kind charge"]`)
	b.see("The limit for the key acme of the kind charge is deleted")
	b.do(until(row("acme") + `?.querySelector('[data-label="Running"]').textContent === '2 of 1'`))
	close(release)
	b.do(until(`!` + row("acme")))
	stop()
	must(t, <-ended)
	if said := b.complaints(); len(said) > 0 {
		t.Errorf("the pages complain: %q", said)
	}
}
