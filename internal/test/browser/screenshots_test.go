package browser_test

import (
	"bytes"
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/sqluice/sqluice/admin"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// TestScreenshots writes pictures of every page, with the data of the demo, into the folder that $SQLUICE_SCREENSHOTS
// names: see make screenshots.
func TestScreenshots(t *testing.T) {
	folder := os.Getenv("SQLUICE_SCREENSHOTS")
	if folder == "" {
		t.Skip("only make screenshots writes them")
	}
	browser := startChromium(t)
	client := demo(t)
	demoSchedules(t, client)
	b := open(t, browser, serve(t, client, admin.Config{}))
	failed, err := inspect.New(client).List(t.Context(), inspect.Filter{Status: jobs.StatusFailed, Kind: "thumbnail", Limit: 1})
	must(t, err)
	must(t, os.MkdirAll(folder, 0o755))
	for _, page := range []struct{ name, path string }{
		{"overview", "/"}, {"jobs", "/jobs"}, {"job", fmt.Sprint("/jobs/", failed[0].ID)}, {"failed", "/failed"}, {"queues", "/queues"}, {"schedules", "/schedules"}, {"schedule", "/schedules/nightly-report"}, {"workers", "/workers"}, {"audit", "/audit"},
	} {
		for _, look := range []struct {
			name, theme   string
			width, height int64
			scale         float64
		}{{"light", "light", 1280, 860, 1.5}, {"dark", "dark", 1280, 860, 1.5}, {"phone", "light", 390, 844, 2}} {
			_, err := chromedp.Call(b.ctx, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
				Width: look.width, Height: look.height, DeviceScaleFactor: look.scale, Mobile: look.name == "phone",
			})
			must(t, err)
			_, err = chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
				Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: look.theme}},
			})
			must(t, err)
			b.visit(page.path)
			picture, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
			must(t, err)
			must(t, os.WriteFile(filepath.Join(folder, page.name+"-"+look.name+".png"), smaller(t, picture), 0o644))
		}
	}
	if said := b.complaints(); len(said) > 0 {
		t.Errorf("the pages complain: %q", said)
	}
}

// smaller returns the same picture in fewer bytes.
func smaller(t *testing.T, picture []byte) []byte {
	t.Helper()
	image, err := png.Decode(bytes.NewReader(picture))
	must(t, err)
	var text bytes.Buffer
	must(t, (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&text, image))
	return text.Bytes()
}
