package browser_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// within bounds the wait for an expected state of a page.
const within = 2 * time.Minute

// startChromium starts a browser, which ends with the test. Without one the test is skipped where the browser is
// optional.
func startChromium(t *testing.T) context.Context {
	t.Helper()
	if testing.Short() {
		t.Skip("takes minutes")
	}
	program := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome", "headless-shell"} {
		if path, err := exec.LookPath(name); err == nil {
			program = path
			break
		}
	}
	if program == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("there is no Chromium")
		}
		t.Skip("NOT TESTED in a browser: there is no Chromium")
	}
	// Now and then Chromium ends before it has started.
	for try := 1; ; try++ {
		browser, err := launch(t, program)
		if err == nil {
			return browser
		}
		if t.Logf("start %s: %v", program, err); try == 3 {
			t.FailNow()
		}
	}
}

func launch(t *testing.T, program string) (context.Context, error) {
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.WSURLReadTimeout(within),
		chromedp.UserDataDir(t.TempDir()), chromedp.Flag("disable-gpu", true), chromedp.Flag("font-render-hinting", "none"))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	allocator, stop := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), options...)
	browser, closeBrowser := chromedp.NewContext(allocator)
	t.Cleanup(func() {
		closeBrowser()
		stop()
	})
	return browser, chromedp.Do(browser)
}

// tab is a page in the browser, with all its complaints.
type tab struct {
	t    *testing.T
	ctx  context.Context
	url  string
	mu   sync.Mutex
	said []string
}

// watcher runs before any script of a page: it records refusals of the content security policy.
const watcher = `window.refusals = [];
document.addEventListener('securitypolicyviolation', (e) => window.refusals.push(e.violatedDirective + ' ' + e.blockedURI + ' ' + e.sample));`

// open opens a tab for a server.
func open(t *testing.T, browser context.Context, url string) *tab {
	t.Helper()
	ctx, done := chromedp.NewContext(browser)
	t.Cleanup(done)
	b := &tab{t: t, ctx: ctx, url: url}
	must(t, chromedp.Listen(ctx, func(event any) {
		switch event := event.(type) {
		case *runtime.EventConsoleAPICalled:
			b.note("console: ", fmt.Sprint(event.Type, event.Args))
		case *runtime.EventExceptionThrown:
			b.note("exception: ", (&chromedp.ExceptionError{ExceptionDetails: event.ExceptionDetails}).Error())
		case *log.EventEntryAdded:
			b.note("log: ", event.Entry.Text+" "+event.Entry.URL)
		case *page.EventJavascriptDialogOpening:
			b.note("dialog: ", event.Message)
		}
	}))
	_, err := chromedp.Call(ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: watcher})
	must(t, err)
	return b
}

func (b *tab) note(what, text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.said = append(b.said, what+text)
}

// complaints returns the tab's complaints so far: an empty list, if all is well.
func (b *tab) complaints() []string {
	b.t.Helper()
	refusals := eval[[]string](b, `window.refusals`)
	b.mu.Lock()
	defer b.mu.Unlock()
	return append(refusals, b.said...)
}

func (b *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, within)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		text, readErr := chromedp.Run(b.ctx, chromedp.Evaluate[string](`location.href + "\n" + document.body.innerText`))
		b.t.Fatalf("%v\nthe page is %s (%v)", err, text, readErr)
	}
}

// eval returns the value of a script.
func eval[T any](b *tab, script string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, within)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](script))
	must(b.t, err)
	return value
}

// until waits for a script to return true.
func until(script string) chromedp.Action[chromedp.Void] {
	return func(ctx context.Context, target *chromedp.Target) (chromedp.Void, error) {
		_, err := chromedp.Poll[bool](script, chromedp.WithPollingTimeout(0))(ctx, target)
		if err != nil {
			err = fmt.Errorf("wait for %s: %w", script, err)
		}
		return chromedp.Void{}, err
	}
}

// visit goes to a page of the server.
func (b *tab) visit(path string) {
	b.t.Helper()
	b.do(chromedp.Navigate(b.url + path))
}

// see waits until the page has a text.
func (b *tab) see(text string) {
	b.t.Helper()
	b.do(until(fmt.Sprintf(`document.body.innerText.includes(%q)`, text)))
}

// press clicks the element of a CSS selector, and waits for the page that this leads to.
func (b *tab) press(selector string) {
	b.t.Helper()
	b.leave(chromedp.Click(chromedp.CSS(selector)))
}

// follow follows the link with a text.
func (b *tab) follow(link string) {
	b.t.Helper()
	b.leave(clickLink(link))
}

// leave runs an action that leads to another page, and waits for that.
func (b *tab) leave(action chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, within)
	defer cancel()
	_, err := chromedp.RunResponse(ctx, action)
	must(b.t, err)
}

// noScripts turns JavaScript off.
func (b *tab) noScripts() {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	must(b.t, err)
}
