package browser_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/sqluice/sqluice/admin"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
)

// TestPhone: on a phone all pages of the navigation are in view, in one row, so is the status that is shown, and many alarms leave the counts in view.
func TestPhone(t *testing.T) {
	browser := startChromium(t)
	client := jobs.New(testdb.SQLite(t))
	for n := range 12 {
		_, err := client.Enqueue(t.Context(), fmt.Sprint("kind-", n), []byte("{}"))
		must(t, err)
	}
	b := open(t, browser, serve(t, client, admin.Config{}))
	b.visit("/")
	_, err := chromedp.Call(b.ctx, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: 360, Height: 640, DeviceScaleFactor: 1, Mobile: true})
	must(t, err)
	for _, path := range []string{"/", "/jobs", "/jobs?status=cancelled", "/failed", "/queues", "/schedules", "/workers", "/audit"} {
		b.visit(path)
		hidden := eval[[]string](b, `[...document.querySelectorAll('[aria-current], .side nav a')].filter((e) => {
			const box = e.getBoundingClientRect();
			return box.left < 0 || box.right > innerWidth || box.top < 0 || box.bottom > innerHeight;
		}).map((e) => e.textContent)`)
		if len(hidden) > 0 {
			t.Errorf("on %s are out of view: %q", path, hidden)
		}
	}
	b.visit("/")
	if rows := eval[int](b, `new Set([...document.querySelectorAll('.side nav a')].map((e) => e.getBoundingClientRect().top)).size`); rows != 1 {
		t.Errorf("the navigation has %d rows", rows)
	}
	if bottom := eval[float64](b, `document.getElementById('tile-failed').getBoundingClientRect().bottom`); bottom > 640 {
		t.Errorf("the counts end at %v of 640", bottom)
	}
	b.do(chromedp.Click(chromedp.CSS("#alarms summary")))
	b.see("handles both")
}
