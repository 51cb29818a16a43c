package browser_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/sqluice/sqluice/admin"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// TestDashboardIsAccessible: axe-core, which comes with the site of the documentation, finds no fault on any page of the dashboard, at
// the width of a phone and a desk, in light and dark, with groups unfolded.
func TestDashboardIsAccessible(t *testing.T) {
	t.Parallel()
	axe, err := os.ReadFile(filepath.Join(builtSite(t), "..", "node_modules", "axe-core", "axe.min.js"))
	must(t, err)
	client := demo(t)
	demoSchedules(t, client)
	for n := range 12 {
		_, err := client.Enqueue(t.Context(), "import", json.RawMessage(fmt.Sprintf(`{"row": %d}`, n)), jobs.MaxAttempts(1))
		must(t, err)
	}
	runner, err := jobs.NewRunner(client, jobs.Config{Name: "importer"})
	must(t, err)
	handle(runner, "import", failsByRow)
	must(t, runner.Drain(t.Context()))
	failed, err := inspect.New(client).List(t.Context(), inspect.Filter{Status: jobs.StatusFailed, Kind: "thumbnail", Limit: 1})
	must(t, err)
	b := open(t, startChromium(t), serve(t, client, admin.Config{Service: "Shop", BackURL: "/admin", LogOutURL: "/out"}))
	_, err = chromedp.Call(b.ctx, page.SetBypassCSP, page.SetBypassCSPParams{Enabled: true}) // which allows no script but the pages'
	must(t, err)
	for _, path := range []string{"/", "/jobs", "/jobs?status=failed", fmt.Sprint("/jobs/", failed[0].ID), "/failed", "/queues", "/schedules", "/schedules/nightly-report", "/workers", "/audit", "/nowhere"} {
		b.widen(1280, "light")
		b.visit(path)
		eval[bool](b, string(axe)+"; true")
		eval[bool](b, `document.querySelectorAll('details').forEach((d) => { d.open = true }); true`)
		for _, theme := range []string{"light", "dark"} {
			for _, width := range []int64{390, 820, 1280} {
				b.widen(width, theme)
				b.judge(fmt.Sprintf("%s at %d in %s", path, width, theme))
			}
		}
	}
}
