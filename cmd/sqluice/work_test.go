package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sqluice/sqluice/jobs"
)

func workTests() tests {
	return tests{
		"TheOutputBecomesTheResult":         theOutputBecomesTheResult,
		"ALargeOutputIsCut":                 aLargeOutputIsCut,
		"ThePayloadGoesToStandardInput":     thePayloadGoesToStandardInput,
		"TheEnvironmentTellsOfTheJob":       theEnvironmentTellsOfTheJob,
		"UncountedAttemptsRaiseMaxAttempts": uncountedAttemptsRaiseMaxAttempts,
		"ExitCodes":                         exitCodes,
		"LogFormats":                        logFormats,
		"ADrainTakesItsKindsAndQueuesOnly":  aDrainTakesItsKindsAndQueuesOnly,
	}
}

// drain runs a worker in the test's process until no work is left.
func (c *cli) drain(execs ...string) answer {
	c.t.Helper()
	args := []string{"work", "--drain"}
	for _, e := range execs {
		args = append(args, "--exec", e)
	}
	a := c.run(args...)
	if a.code != exitOK {
		c.t.Fatalf("work: exit code %d\n%s", a.code, a.err)
	}
	return a
}

func theOutputBecomesTheResult(t *testing.T, c *cli) {
	for name, test := range map[string]struct{ output, want string }{
		"JSON":                {` {\"a\": [1, 2.50]}\n`, `{"a":[1,2.50]}`},
		"a large number":      {`12345678901234567890.5`, `12345678901234567890.5`},
		"text":                {`two\nlines\n`, `"two\nlines"`},
		"nothing":             {``, ``},
		"blanks":              {` \n\n`, ``},
		"JSON twice":          {`1 2`, `"1 2"`},
		"bytes and no text":   {`a\xff\x00b`, `"a` + "\uFFFD\uFFFD" + `b"`},
		"a lone surrogate":    {`\"\\ud800\"`, `"\"\\ud800\""`},
		"an escaped NUL":      {`\"\\u0000\"`, `"\"\\u0000\""`},
		"quotes and controls": {`\"\x1b\x07`, `"\"\u001b\u0007"`},
	} {
		t.Run(name, func(t *testing.T) {
			c := &cli{t, c.db}
			id := c.enqueue("k")
			c.drain(execFlag(t, "k", "print", test.output))
			job := c.show(id)
			if job.Status != jobs.StatusDone || !sameJSON(t, job.Result, test.want) {
				t.Errorf("the job is %s, its result %s, want %s", job.Status, job.Result, test.want)
			}
		})
	}
}

// sameJSON compares values, and numbers digit for digit.
func sameJSON(t *testing.T, got json.RawMessage, want string) bool {
	t.Helper()
	if len(got) == 0 || want == "" {
		return len(got) == 0 && want == ""
	}
	decode := func(text string) (v any) {
		decoder := json.NewDecoder(strings.NewReader(text))
		decoder.UseNumber()
		if err := decoder.Decode(&v); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		return v
	}
	return fmt.Sprintf("%#v", decode(string(got))) == fmt.Sprintf("%#v", decode(want))
}

func aLargeOutputIsCut(t *testing.T, c *cli) {
	id := c.enqueue("k")
	a := c.drain(execFlag(t, "k", "flood", "5000"))
	var result string
	if err := json.Unmarshal(c.show(id).Result, &result); err != nil {
		t.Fatal(err)
	}
	if result != strings.Repeat("x", resultLimit) {
		t.Errorf("%d bytes were kept, want %d", len(result), resultLimit)
	}
	if !strings.Contains(a.err, "longer than a result") || !strings.Contains(a.err, fmt.Sprint("dropped=", 5000<<10-resultLimit)) {
		t.Errorf("the log does not say so:\n%s", a.err)
	}
}

func thePayloadGoesToStandardInput(t *testing.T, c *cli) {
	payload := fmt.Sprintf(`{"text": %q}`, strings.Repeat("grüße ", 1000))
	id := c.enqueue("k", payload)
	// A program that reads nothing must not fail because of that, whether the payload fits into a pipe or not.
	large := strings.TrimSpace(c.runWith(strings.NewReader(`"`+strings.Repeat("x", 1_000_000)+`"`), "enqueue", "deaf", "-").out)
	c.drain(execFlag(t, "k", "echo"), execFlag(t, "deaf", "print", "1"))
	if job := c.show(id); !sameJSON(t, job.Result, payload) {
		t.Errorf("the echo has %d bytes, the payload %d", len(job.Result), len(payload))
	}
	if job := c.show(large); job.Status != jobs.StatusDone || string(job.Result) != "1" {
		t.Errorf("the job whose payload was not read is %s, its result %s: %s", job.Status, job.Result, job.LastError)
	}
}

func theEnvironmentTellsOfTheJob(t *testing.T, c *cli) {
	id := c.enqueue("k", "--queue", "q", "--max-attempts", "7")
	if a := c.run("work", "--drain", "--queue", "q", "--exec", execFlag(t, "k", "env")); a.code != exitOK {
		t.Fatalf("%+v", a)
	}
	var got map[string]string
	if err := json.Unmarshal(c.show(id).Result, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"SQLUICE_JOB_ID": id, "SQLUICE_KIND": "k", "SQLUICE_QUEUE": "q", "SQLUICE_ATTEMPT": "1", "SQLUICE_MAX_ATTEMPTS": "7", "SQLUICE_PAYLOAD_VERSION": "0",
	}
	if !maps.Equal(got, want) {
		t.Errorf("the environment is %v, want %v", got, want)
	}
}

func uncountedAttemptsRaiseMaxAttempts(t *testing.T, c *cli) {
	id := c.enqueue("k", "--max-attempts", "1")
	c.drain(execFlag(t, "k", "fail", "1", "no", "1"))
	c.ok("retry", id) // the attempt before it counts no more
	c.drain(execFlag(t, "k", "env"))
	var got map[string]string
	if err := json.Unmarshal(c.show(id).Result, &got); err != nil {
		t.Fatal(err)
	}
	if got["SQLUICE_ATTEMPT"] != "2" || got["SQLUICE_MAX_ATTEMPTS"] != "2" {
		t.Errorf("attempt %s of %s, want 2 of 2", got["SQLUICE_ATTEMPT"], got["SQLUICE_MAX_ATTEMPTS"])
	}
}

func exitCodes(t *testing.T, c *cli) {
	retry, discard, last := c.enqueue("retry"), c.enqueue("discard"), c.enqueue("last", "--max-attempts", "1")
	// On a slow machine the first job is due again while the worker still drains; it fails in the same way then.
	c.drain(execFlag(t, "retry", "fail", "3", "try later", "1"), execFlag(t, "discard", "fail", "65", "bad data", "1"),
		execFlag(t, "last", "fail", "1", "the last line", "1000"))
	job := c.show(retry)
	if job.Status.Final() || job.Attempt < 1 || len(job.Errors) != job.Attempt || job.Errors[0].Cause != jobs.CauseError ||
		job.LastError != "exit status 3: 0 try later" {
		t.Errorf("exit code 3: %+v", job)
	}
	job = c.show(discard)
	if job.Status != jobs.StatusFailed || job.Attempt != 1 || job.LastError != "exit status 65: 0 bad data" {
		t.Errorf("exit code 65: %+v", job)
	}
	job = c.show(last)
	if job.Status != jobs.StatusFailed || !strings.HasPrefix(job.LastError, "exit status 1: ") ||
		!strings.HasSuffix(job.LastError, "999 the last line") || len(job.LastError) > 2<<10+100 || !utf8.ValidString(job.LastError) {
		t.Errorf("the last attempt: %s, %d bytes: %q", job.Status, len(job.LastError), job.LastError)
	}
}

func logFormats(t *testing.T, c *cli) {
	c.enqueue("k", "1")
	a := c.run("work", "--drain", "--log-format", "json", "--exec", execFlag(t, "k", "echo"))
	for line := range strings.Lines(a.err) {
		var entry struct{ Level, Msg string }
		if err := json.Unmarshal([]byte(line), &entry); err != nil || entry.Msg == "" {
			t.Errorf("the line %q is no JSON entry: %v", line, err)
		}
	}
	if !strings.Contains(a.err, `"msg":"job done"`) {
		t.Errorf("the log lacks the job:\n%s", a.err)
	}
	c.enqueue("k", "1")
	if a := c.run("work", "--drain", "--log-level", "error", "--exec", execFlag(t, "k", "echo")); a.code != exitOK || a.err != "" {
		t.Errorf("at level error: %+v", a)
	}
}

func aDrainTakesItsKindsAndQueuesOnly(t *testing.T, c *cli) {
	mine, other, elsewhere, later := c.enqueue("k", "1"), c.enqueue("other"), c.enqueue("k", "--queue", "q"), c.enqueue("k", "--in", "1h")
	c.drain(execFlag(t, "k", "echo"))
	for id, want := range map[string]jobs.Status{
		mine: jobs.StatusDone, other: jobs.StatusPending, elsewhere: jobs.StatusPending, later: jobs.StatusScheduled,
	} {
		if got := c.show(id).Status; got != want {
			t.Errorf("job %s is %s, want %s", id, got, want)
		}
	}
}
