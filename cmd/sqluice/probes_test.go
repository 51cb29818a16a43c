package main

import (
	"net/http"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/sqluice/sqluice/jobs"
)

func probeTests() tests {
	return tests{"ProbesOfAWorker": probesOfAWorker, "ProbesOfAServer": probesOfAServer}
}

// probesAt waits until a process logs where it answers probes.
func (c *cli) probesAt(p *process) (url string) {
	c.t.Helper()
	said := regexp.MustCompile(`msg="answering probes" url=(\S+)/readyz`)
	eventually(c.t, "the log says where probes are answered", func() bool {
		match := said.FindStringSubmatch(p.errs.String())
		if match != nil {
			url = match[1]
		}
		return match != nil
	})
	return url
}

func wantProbe(t *testing.T, url string, status int, word string) {
	t.Helper()
	if got, body := fetch(t, http.MethodGet, url, "", ""); got != status || !strings.Contains(body, word) {
		t.Errorf("%s is answered with %d %q, not %d %q", url, got, body, status, word)
	}
}

// A worker is ready until it stops, and answers while it waits for its jobs.
func probesOfAWorker(t *testing.T, c *cli) {
	c.ok("up")
	dir := t.TempDir()
	id := c.enqueue("k")
	p := c.startWith([]string{tokenVariable + "=" + testToken}, "work", "--exec", execFlag(t, "k", "hang", dir),
		"--probes", "127.0.0.1:0", "--log-level", "info", "--grace", "1h")
	url := c.probesAt(p)
	wantProbe(t, url+"/healthz", http.StatusOK, "ok")
	eventually(t, "the worker is ready", func() bool {
		status, _ := fetch(t, http.MethodGet, url+"/readyz", "", "")
		return status == http.StatusOK
	})
	wantProbe(t, url+"/", http.StatusNotFound, "/readyz")
	if status, _ := fetch(t, http.MethodPost, url+"/readyz", "", ""); status != http.StatusMethodNotAllowed {
		t.Errorf("a POST is answered with %d", status)
	}
	hanging(t, dir, id)
	p.signal(syscall.SIGTERM)
	eventually(t, "the worker is no longer ready", func() bool {
		status, body := fetch(t, http.MethodGet, url+"/readyz", "", "")
		return status == http.StatusServiceUnavailable && strings.Contains(body, "stopping")
	})
	wantProbe(t, url+"/healthz", http.StatusOK, "ok")
	c.ok("cancel", id)
	p.wantExit(exitOK)
	if job := c.show(id); job.Status != jobs.StatusCancelled {
		t.Errorf("the job is %s", job.Status)
	}
}

// A server is not ready while its schema is another one. It says no more than that, and recovers.
func probesOfAServer(t *testing.T, c *cli) {
	c.ok("up")
	p, _ := c.serving([]string{tokenVariable + "=" + testToken}, "--probes", "127.0.0.1:0")
	url := c.probesAt(p)
	wantProbe(t, url+"/readyz", http.StatusOK, "ok")
	c.ok("down")
	ready := func() int {
		status, _ := fetch(t, http.MethodGet, url+"/readyz", "", "")
		return status
	}
	eventually(t, "the server is not ready", func() bool { return ready() == http.StatusServiceUnavailable })
	c.ok("up")
	eventually(t, "the server is ready again", func() bool { return ready() == http.StatusOK })
	p.signal(syscall.SIGTERM)
	p.wantExit(exitOK) // the log is complete now
	for _, line := range []string{"not ready: the database cannot be used", "ready again"} {
		if n := strings.Count(p.errs.String(), line); n != 1 {
			t.Errorf("the log says %d times that it is %s:\n%s", n, line, p.errs.String())
		}
	}
}
