package browser_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/sqluice/sqluice/admin"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// beyondEdge returns the elements beyond the edge of a page.
const beyondEdge = `(() => {
	const edge = document.getElementById('main').getBoundingClientRect().right + 1;
	const out = [];
	for (const e of document.querySelectorAll('main *')) {
		if (e.closest('.tabs, pre, .scroll, svg, .uplot, .tip, .rows .error') || e.matches('.unseen')) continue;
		const box = e.getBoundingClientRect();
		if (box.width > 0 && box.height > 0 && box.right > edge) out.push(e.outerHTML.slice(0, 120));
	}
	if (document.documentElement.scrollWidth > innerWidth) out.push('the page itself');
	return out.slice(0, 5);
})()`

// TestWidths: at no width is any element of a page cut off, or outside of the page, once its charts are drawn for that
// width. Elements that scroll by themselves are left out.
func TestWidths(t *testing.T) {
	browser := startChromium(t)
	client := demo(t)
	b := open(t, browser, serve(t, client, admin.Config{}))
	failed, err := inspect.New(client).List(t.Context(), inspect.Filter{Status: jobs.StatusFailed, Kind: "thumbnail", Limit: 1})
	must(t, err)
	addSchedules(t, client)
	for _, path := range []string{"/", "/jobs", "/jobs?status=failed", fmt.Sprint("/jobs/", failed[0].ID), "/failed", "/queues", "/limits", "/schedules", "/schedules/nightly%20report", "/schedules/sync-crm", "/workers", "/audit"} {
		b.visit(path)
		for _, width := range []int64{320, 390, 600, 759, 761, 820, 900, 1024, 1100, 1180, 1279, 1280, 1440} {
			_, err := chromedp.Call(b.ctx, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
				Width: width, Height: 900, DeviceScaleFactor: 1, Mobile: width < 760,
			})
			must(t, err)
			ctx, cancel := context.WithTimeout(b.ctx, within)
			err = chromedp.Do(ctx, until(beyondEdge+".length === 0"))
			cancel()
			if err != nil {
				t.Fatalf("at %d, %s goes on beyond its edge with %q: %v", width, path, eval[[]string](b, beyondEdge), err)
			}
		}
	}
}

// addSchedules adds schedules with short and with long names, one of them paused, and some ticks.
func addSchedules(t *testing.T, client *jobs.Client) {
	t.Helper()
	long := strings.Repeat("a-long-name", 15)
	for _, s := range []jobs.Schedule{
		jobs.NewSchedule("nightly report", "30 2 * * *", "nightly_report", json.RawMessage(`{"day": "yesterday"}`), jobs.Zone("Europe/Berlin"), jobs.OverlapSkip),
		jobs.NewSchedule("sync-crm", "*/5 7-19 * 1-12 mon-fri", "sync_crm", json.RawMessage(`{"all": true}`), jobs.Zone("America/Argentina/ComodRivadavia"), jobs.CatchUpAll(10)),
		jobs.NewSchedule(long, "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25 * * * *", long, json.RawMessage(`"`+long+`"`), jobs.Queue(long), jobs.Tags(long)),
	} {
		must(t, client.PutSchedule(t.Context(), s))
	}
	for range 3 {
		_, err := client.RunSchedule(t.Context(), "nightly report")
		must(t, err)
	}
	_, err := client.PauseSchedule(t.Context(), "sync-crm")
	must(t, err)
}
