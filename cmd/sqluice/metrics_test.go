package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/sqluice/sqluice/jobs"
)

const testToken = "a token of some length"

func serveGivesMetrics(t *testing.T, c *cli) {
	c.ok("up")
	c.enqueue("k")
	_, api := c.serving(nil)
	url := strings.TrimSuffix(api, "/api/admin") + metricsPath
	status, body := fetch(t, http.MethodGet, url, "", "")
	if status != http.StatusOK {
		t.Fatalf("it is answered with %d: %s", status, body)
	}
	for _, want := range []string{
		`sqluice_jobs{status="pending"} 1`, `sqluice_queue_jobs{queue="default",status="pending"} 1`, "sqluice_database_up 1",
		`sqluice_unhandled_jobs{kind="k",queue="default"} 1`, "go_goroutines",
	} {
		if !strings.Contains(body, "\n"+want) {
			t.Errorf("%s is missing in\n%s", want, body)
		}
	}
	if status, _ := fetch(t, http.MethodPost, url, "", ""); status != http.StatusNotFound {
		t.Errorf("a change is answered with %d", status)
	}

	_, api = c.serving([]string{tokenVariable + "=" + testToken}, "--prefix", "/queue")
	url = strings.TrimSuffix(api, "/api/admin") + metricsPath
	if status, _ := fetch(t, http.MethodGet, url, "", ""); status != http.StatusUnauthorized {
		t.Errorf("without the token it is answered with %d", status)
	}
	if status, _ := fetch(t, http.MethodGet, url, testToken, ""); status != http.StatusOK {
		t.Errorf("with the token it is answered with %d", status)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = "evil.example.com"
	r.Header.Set("Authorization", "Bearer "+testToken)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusForbidden {
		t.Errorf("by another name it is answered with %d", answer.StatusCode)
	}
}

// metricsAt waits until a worker logs where it serves its metrics.
func (c *cli) metricsAt(p *process) (url string) {
	c.t.Helper()
	said := regexp.MustCompile(`msg="serving metrics" url=(\S+)`)
	eventually(c.t, "the worker logs where its metrics are", func() bool {
		match := said.FindStringSubmatch(p.errs.String())
		if match != nil {
			url = match[1]
		}
		return match != nil
	})
	return url
}

func workGivesMetrics(t *testing.T, c *cli) {
	c.ok("up")
	id := c.enqueue("k")
	p := c.startWith([]string{tokenVariable + "=" + testToken}, "work", "--exec", execFlag(t, "k", "env"),
		"--metrics", "127.0.0.1:0", "--log-level", "info")
	url := c.metricsAt(p)
	c.ok("wait", id)
	if status, body := fetch(t, http.MethodGet, url, "", ""); status != http.StatusUnauthorized {
		t.Errorf("without the token it is answered with %d: %s", status, body)
	}
	eventually(t, "the attempt is counted", func() bool {
		status, body := fetch(t, http.MethodGet, url, testToken, "")
		return status == http.StatusOK && strings.Contains(body, `sqluice_attempts_total{fate="done",kind="k",queue="default"} 1`)
	})
	if status, _ := fetch(t, http.MethodGet, strings.TrimSuffix(url, metricsPath)+"/", testToken, ""); status != http.StatusNotFound {
		t.Errorf("another path is answered with %d", status)
	}
	var environment map[string]string
	job := c.show(id)
	if err := json.Unmarshal(job.Result, &environment); err != nil || job.Status != jobs.StatusDone {
		t.Fatalf("the job is %s with %s, %v", job.Status, job.Result, err)
	}
	if token, there := environment[tokenVariable]; there {
		t.Errorf("the program got the token %q", token)
	}
	p.signal(syscall.SIGTERM)
	p.wantExit(exitOK)
}

func TestWorkRefusesToServeMetrics(t *testing.T) {
	c := newCLI(t)
	c.ok("up")
	program := execFlag(t, "k", "echo")
	c.fails(exitUsage, []string{"--metrics", `"0.0.0.0:0"`, "needs a token"}, "work", "--exec", program, "--metrics", "0.0.0.0:0")
	c.fails(exitUsage, []string{"--metrics HOST:PORT"}, "work", "--exec", program, "--host", "a")
	c.fails(exitUsage, []string{"--host", `"a:80"`}, "work", "--exec", program, "--metrics", "127.0.0.1:0", "--host", "a:80")
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.fails(exitUsage, []string{"the token", "at least 16"}, "work", "--exec", program, "--metrics", "127.0.0.1:0", "--token-file", file)
}
