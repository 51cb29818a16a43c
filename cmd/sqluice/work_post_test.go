package main

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/sqluice/sqluice/jobs"
)

// webhookSecret is the secret of the example of the Standard Webhooks specification.
const webhookSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

func TestPostIsRefused(t *testing.T) {
	c := newCLI(t)
	t.Setenv(secretVariable, "")
	for _, value := range []string{"", "mail", "=https://example.com", "mail=", "mail=example.com", "mail=ftp://example.com", "mail=https://", "mail=https://u:hush@[::1", "mail=https://example.com/#a"} {
		a := c.run("work", "--post", value)
		if a.code != exitUsage || !strings.Contains(a.err, "--post") || strings.Contains(a.err, "hush") {
			t.Errorf("--post %s: %d %s", value, a.code, a.err)
		}
	}
	const to = "mail=https://example.com/"
	c.fails(exitUsage, []string{"name a kind once"}, "work", "--post", to, "--post", to)
	c.fails(exitUsage, []string{"name a kind once"}, "work", "--exec", execFlag(t, "mail", "echo"), "--post", to)
	c.fails(exitUsage, []string{"name a kind once"}, "work", "--post", to, "--exec", execFlag(t, "mail", "echo"))
	c.fails(exitUsage, []string{"needs a secret", secretVariable}, "work", "--post", to)
	c.fails(exitUsage, []string{"are for --post"}, "work", "--exec", execFlag(t, "mail", "echo"), "--post-private")
	c.fails(exitFailure, []string{"read the secret"}, "work", "--post", to, "--post-secret-file", filepath.Join(t.TempDir(), "none"))
	for _, secret := range []string{"MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_!", "whsec_AAAA", "whsec_" + strings.Repeat("A", 88)} {
		path := filepath.Join(t.TempDir(), "secret")
		if err := os.WriteFile(path, []byte(secret), 0o600); err != nil {
			t.Fatal(err)
		}
		a := c.run("work", "--post", to, "--post-secret-file", path)
		if a.code != exitUsage || !strings.Contains(a.err, "the secret of --post must be") || strings.Contains(a.err, secret) {
			t.Errorf("the secret %s: %d %s", secret, a.code, a.err)
		}
	}
}

// httpReceiver is an HTTP server that answers by the path.
type httpReceiver struct {
	*httptest.Server
	t *testing.T

	mu   sync.Mutex
	seen map[string][]*http.Request // by path, with the body in the header "body"
}

func newReceiver(t *testing.T, handle func(w http.ResponseWriter, r *http.Request, n int)) *httpReceiver {
	v := &httpReceiver{t: t, seen: map[string][]*http.Request{}}
	v.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		r.Header.Set("body", string(body))
		v.mu.Lock()
		v.seen[r.URL.Path] = append(v.seen[r.URL.Path], r)
		n := len(v.seen[r.URL.Path])
		v.mu.Unlock()
		handle(w, r, n)
	}))
	t.Cleanup(v.Close)
	return v
}

func (v *httpReceiver) requests(path string) []*http.Request {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.seen[path]
}

// payloadsArePosted checks that the answer of the receiver decides the outcome of a job, and that requests are signed.
func payloadsArePosted(t *testing.T, c *cli) {
	c.ok("up")
	t.Setenv(secretVariable, webhookSecret)
	blocked := make(chan struct{})
	var other *httpReceiver
	v := newReceiver(t, func(w http.ResponseWriter, r *http.Request, n int) {
		switch r.URL.Path {
		case "/json":
			fmt.Fprint(w, `{"ok": true}`)
		case "/text":
			w.WriteHeader(http.StatusAccepted)
			fmt.Fprint(w, "queued\n")
		case "/empty":
			w.WriteHeader(http.StatusNoContent)
		case "/large":
			fmt.Fprint(w, strings.Repeat("x", 2*resultLimit))
		case "/gone":
			http.Error(w, "no such hook", http.StatusGone)
		case "/fails":
			http.Error(w, "out of order", http.StatusInternalServerError)
		case "/later":
			if n == 1 {
				w.Header().Set("Retry-After", "1")
				w.WriteHeader(http.StatusTooManyRequests)
			}
		case "/closed":
			if n == 1 {
				w.Header().Set("Retry-After", "86400")
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		case "/slow":
			<-blocked
		case "/moved":
			http.Redirect(w, r, other.URL+"/target", http.StatusTemporaryRedirect)
		case "/get":
			http.Redirect(w, r, "/json", http.StatusFound)
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusPermanentRedirect)
		default:
			http.Error(w, "?", http.StatusNotFound)
		}
	})
	other = newReceiver(t, func(w http.ResponseWriter, r *http.Request, _ int) { fmt.Fprint(w, "1") })
	defer close(blocked)
	work := func(kinds []string, more ...string) string {
		args := []string{"work", "--drain", "--post-timeout", "300ms", "--retry", "1h"}
		for _, kind := range kinds {
			args = append(args, "--post", kind+"="+v.URL+"/"+kind+"?token=hush")
		}
		a := c.run(append(args, more...)...)
		if a.code != exitOK || strings.Contains(a.err, "hush") {
			t.Errorf("work: %d %s", a.code, a.err)
		}
		return a.err
	}
	ids := map[string]string{}
	kinds := []string{"json", "text", "empty", "large", "gone", "fails", "slow", "moved", "get", "loop"}
	for _, kind := range kinds {
		ids[kind] = c.enqueue(kind, `{"to": "ann"}`, "--max-attempts", "3")
	}
	work(kinds, "--post-timeout", "5s", "--post", "none=http://127.0.0.1:1/")
	for kind, want := range map[string]struct {
		status jobs.Status
		text   string // of the result, or in the error
	}{
		"json": {jobs.StatusDone, `{"ok":true}`}, "text": {jobs.StatusDone, `"queued"`}, "empty": {jobs.StatusDone, ""},
		"large": {jobs.StatusDone, `"` + strings.Repeat("x", resultLimit) + `"`},
		"gone":  {jobs.StatusFailed, "the receiver answered 410 Gone: no such hook"},
		"fails": {jobs.StatusScheduled, "the receiver answered 500 Internal Server Error: out of order"},
		"slow":  {jobs.StatusScheduled, "no answer within 5s"},
		"moved": {jobs.StatusScheduled, "the address 127.0.0.1, which is not public: allow it with --post-private"},
		"get":   {jobs.StatusScheduled, "the receiver answered 302 Found"}, "loop": {jobs.StatusScheduled, "not public"},
	} {
		job := c.show(ids[kind])
		have := plainJSON(t, job.Result)
		if job.Status != jobs.StatusDone {
			have = job.LastError
		}
		if job.Status != want.status || job.Status == jobs.StatusDone && have != want.text || !strings.Contains(have, want.text) || strings.Contains(have, "hush") {
			t.Errorf("%s: %s, %.300s", kind, job.Status, have)
		}
	}
	if n := len(other.requests("/target")); n != 0 {
		t.Errorf("a redirect to a private address was followed %d times", n)
	}

	// Allowed, a redirect is followed with the same id and a signature; a loop ends.
	for _, kind := range []string{"moved", "loop"} {
		c.ok("retry", ids[kind])
	}
	work([]string{"moved", "loop"}, "--post-private", "--post-timeout", "5s")
	if job := c.show(ids["moved"]); job.Status != jobs.StatusDone || plainJSON(t, job.Result) != "1" {
		t.Errorf("the job that was redirected is %s with %s", job.Status, job.LastError)
	}
	if job := c.show(ids["loop"]); !strings.Contains(job.LastError, "redirects more than 5 times") {
		t.Errorf("the loop: %s", job.LastError)
	}
	sent := append(v.requests("/moved"), other.requests("/target")...)
	if len(sent) != 3 {
		t.Fatalf("%d requests", len(sent))
	}
	for _, r := range sent {
		wantSigned(t, r, ids["moved"], `{"to":"ann"}`)
		if r.Header.Get("webhook-id") != sent[0].Header.Get("webhook-id") {
			t.Errorf("the id %s became %s", sent[0].Header.Get("webhook-id"), r.Header.Get("webhook-id"))
		}
	}

	// A payload that replaces another one has an id of its own: the receiver may have processed the former.
	c.ok("update", ids["fails"], "--payload", `{"to": "bob"}`)
	c.ok("retry", ids["fails"])
	work([]string{"fails"})
	if sent := v.requests("/fails"); len(sent) != 2 || sent[0].Header.Get("webhook-id") == sent[1].Header.Get("webhook-id") {
		t.Errorf("%d requests, and the id of another payload is the same", len(sent))
	}

	// What a receiver asked for stands in the pause alone: a person who resumes the kind makes the worker try at once.
	closed := c.enqueue("closed")
	worker := c.startWith([]string{secretVariable + "=" + webhookSecret}, "work", "--concurrency", "1", "--post", "closed="+v.URL+"/closed")
	eventually(t, "the kind is paused for a day", func() bool {
		return strings.Contains(c.ok("queues"), "the receiver asks to wait")
	})
	c.ok("queues", "resume", "default", "--kind", "closed")
	c.ok("wait", closed, "--timeout", "2m")
	worker.signal(syscall.SIGTERM)
	worker.wantExit(exitOK)
	if job := c.show(closed); job.Status != jobs.StatusDone || job.Uncounted != 1 || len(v.requests("/closed")) != 2 {
		t.Errorf("the job is %s after %d requests, %d of them uncounted", job.Status, len(v.requests("/closed")), job.Uncounted)
	}

	// A receiver that asks to wait gets no request of any job of the kind meanwhile, and no attempt counts.
	first, second := c.enqueue("later"), c.enqueue("later")
	worker = c.startWith([]string{secretVariable + "=" + webhookSecret}, "work", "--concurrency", "1", "--post", "later="+v.URL+"/later")
	c.ok("wait", first, "--timeout", "2m")
	c.ok("wait", second, "--timeout", "2m")
	worker.signal(syscall.SIGTERM)
	worker.wantExit(exitOK)
	all := v.requests("/later")
	if len(all) != 3 {
		t.Errorf("%d requests", len(all))
	}
	for id, uncounted := range map[string]int{first: 1, second: 0} { // its kind was paused
		if job := c.show(id); job.Status != jobs.StatusDone || job.Uncounted != uncounted || len(job.Errors) != 0 {
			t.Errorf("job %s: %s, %d attempts that do not count of %d", id, job.Status, job.Uncounted, job.Attempt)
		}
	}
}

// plainJSON returns JSON without blanks; "" for none.
func plainJSON(t *testing.T, text []byte) string {
	t.Helper()
	var b bytes.Buffer
	if len(text) > 0 && json.Compact(&b, text) != nil {
		t.Errorf("%s is no JSON", text)
	}
	return b.String()
}

// wantSigned checks a request as a receiver does.
func wantSigned(t *testing.T, r *http.Request, id, payload string) {
	t.Helper()
	secret, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(webhookSecret, "whsec_"))
	if err != nil {
		t.Fatal(err)
	}
	body := r.Header.Get("body")
	mac := hmac.New(sha256.New, secret)
	fmt.Fprintf(mac, "%s.%s.%s", r.Header.Get("webhook-id"), r.Header.Get("webhook-timestamp"), body)
	if want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)); r.Header.Get("webhook-signature") != want {
		t.Errorf("the signature is %s, not %s", r.Header.Get("webhook-signature"), want)
	}
	if plainJSON(t, []byte(body)) != payload || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" || r.Header.Get("Sqluice-Job-Id") != id {
		t.Errorf("the request is %s %v with %s", r.Method, r.Header, body)
	}
}

// The request ends with the attempt: a receiver that never answers does not hold up a stop.
func TestPostEndsWithTheAttempt(t *testing.T) {
	c := newCLI(t)
	c.ok("up")
	arrived, end := make(chan struct{}), make(chan struct{})
	var once sync.Once
	var requests atomic.Int64
	v := newReceiver(t, func(_ http.ResponseWriter, r *http.Request, _ int) {
		requests.Add(1)
		once.Do(func() { close(arrived) })
		select {
		case <-r.Context().Done():
		case <-end:
		}
	})
	defer close(end)
	id := c.enqueue("k")
	worker := c.startWith([]string{secretVariable + "=" + webhookSecret}, "work", "--grace", "0s", "--post", "k="+v.URL)
	<-arrived
	worker.signal(syscall.SIGTERM)
	worker.wantExit(exitOK)
	if job := c.show(id); job.Status != jobs.StatusPending || job.Uncounted != 1 {
		t.Errorf("the job is %+v", job)
	}
	if parsed, err := url.Parse(v.URL + "/a?b=hush"); err != nil || strings.Contains(hostURL(parsed), "hush") {
		t.Error(hostURL(parsed), err)
	}
}
