package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sqluice/sqluice/internal/newjob"
	"github.com/sqluice/sqluice/jobs"
)

func enqueueTests() tests {
	return tests{
		"EnqueueFindsWhatIsThere": enqueueFindsWhatIsThere,
		"EnqueueUniqueModes":      enqueueUniqueModes,
		"EnqueuePayloads":         enqueuePayloads,
		"EnqueueLines":            enqueueLines,
		"EnqueueItems":            enqueueItems,
	}
}

func enqueueFindsWhatIsThere(t *testing.T, c *cli) {
	for _, flag := range []string{"--unique", "--request-id"} {
		first := c.enqueue("k", flag, "x")
		a := c.run("enqueue", "k", flag, "x")
		if a.code != exitOK || a.out != first+"\n" || !strings.Contains(a.err, "no job was added") {
			t.Errorf("%s again: %+v, want the id %s", flag, a, first)
		}
		receipt := get[struct {
			ID      int64
			Existed bool
		}](c, "enqueue", "k", flag, "x")
		if fmt.Sprint(receipt.ID) != first || !receipt.Existed {
			t.Errorf("%s again, as JSON: %+v", flag, receipt)
		}
	}
	if n := len(get[[]jobs.Job](c, "list")); n != 2 {
		t.Errorf("there are %d jobs, want 2", n)
	}
}

func enqueueUniqueModes(t *testing.T, c *cli) {
	type receipt struct {
		ID                int64
		Existed, Replaced bool
	}
	first := get[receipt](c, "enqueue", "k", "1", "--unique", "u", "--unique-mode", "replace", "--in", "1h")
	for _, mode := range [][]string{{"--unique-mode", "replace"}, {"--unique-mode", "again"}, {"--debounce", "2h", "--at-most", "3h"}} {
		a := get[receipt](c, append([]string{"enqueue", "k", "2", "--unique", "u"}, mode...)...)
		if want := (receipt{first.ID, true, true}); a != want {
			t.Errorf("%v gives %+v, not %+v", mode, a, want)
		}
	}
	if a := c.run("enqueue", "k", "3", "--unique", "u", "--debounce", "2h"); !strings.Contains(a.err, "has the new payload and options now") {
		t.Errorf("a job that is replaced: %+v", a)
	}
	if a := get[receipt](c, "enqueue", "k", "4", "--unique", "u", "--unique-mode", "keep"); a != (receipt{first.ID, true, false}) {
		t.Errorf("a job that is kept: %+v", a)
	}
	job := c.show(fmt.Sprint(first.ID))
	if string(job.Payload) != "3" || !job.RunAfter.After(job.CreatedAt.Add(time.Hour+time.Minute)) {
		t.Errorf("the job became %+v", job)
	}
	if a := c.run("why", fmt.Sprint(first.ID)); !strings.Contains(a.out, "debounced until") {
		t.Errorf("why says %s", a.out)
	}
	period := []string{"enqueue", "k", "--unique", "p", "--unique-for", "1h"}
	taken := get[receipt](c, period...)
	c.ok("delete", fmt.Sprint(taken.ID))
	if a := get[receipt](c, period...); a.ID != taken.ID || !a.Existed {
		t.Errorf("within the period: %+v after %+v", a, taken)
	}
	for text, args := range map[string][]string{
		"--unique-mode":          {"--unique", "u", "--unique-mode", "never"},
		"be given with a unique": {"--debounce", "1s"},
		"another way":            {"--unique", "u", "--debounce", "1s", "--unique-for", "1h"},
		"--at-most":              {"--unique", "u", "--at-most", "1s"},
		"at least the debounce":  {"--unique", "u", "--debounce", "1m", "--at-most", "1s"},
		"not be given together":  {"--unique", "u", "--debounce", "1m", "--in", "1s"},
	} {
		c.fails(exitUsage, []string{text}, append([]string{"enqueue", "k"}, args...)...)
	}
}

func enqueuePayloads(t *testing.T, c *cli) {
	if job := c.show(c.enqueue("k")); string(job.Payload) != "{}" {
		t.Errorf("the default payload is %s", job.Payload)
	}
	if job := c.show(c.enqueue("k", "--", "-5")); string(job.Payload) != "-5" {
		t.Errorf("the payload after -- is %s", job.Payload)
	}
	a := c.runWith(strings.NewReader("\"from stdin\"\r\n"), "enqueue", "k", "-")
	if job := c.show(strings.TrimSpace(a.out)); string(job.Payload) != `"from stdin"` {
		t.Errorf("the payload from standard input is %s", job.Payload)
	}
}

// badPayloads are refused by every way to enqueue, and leave nothing behind.
func badPayloads() map[string][2]string { // the payload, and a text that the error has
	return map[string][2]string{
		"no JSON":        {`{"a":`, "JSON"},
		"two values":     {`1 2`, "JSON"},
		"NUL":            {`"a\u0000b"`, "NUL"},
		"raw NUL":        {"\"a\x00b\"", "JSON"},
		"lone surrogate": {`"\ud800"`, "surrogate"},
		"no UTF-8":       {"\"\xff\"", "UTF-8"},
		"too large":      {`"` + strings.Repeat("x", jobs.MaxPayload) + `"`, "1048576 bytes"},
		"too deep":       {strings.Repeat("[", 201) + strings.Repeat("]", 201), "200 levels"},
	}
}

func TestBadPayloadsAreRefusedAndLeaveNothing(t *testing.T) {
	for name, bad := range badPayloads() {
		t.Run(name, func(t *testing.T) {
			c := newCLI(t)
			c.fails(exitUsage, []string{"PAYLOAD", bad[1]}, "enqueue", "k", bad[0])
			c.failsWith(exitFailure, bad[0], []string{"standard input", bad[1]}, "enqueue", "k", "-")
			c.failsWith(exitFailure, "1\n\n"+bad[0]+"\n2\n", []string{"line 3", bad[1], "nothing was added"}, "enqueue", "k", "--stdin")
			if exists(c.db) {
				t.Error("a database was made")
			}
			c.ok("up")
			c.failsWith(exitFailure, "1\n"+bad[0], []string{"line 2"}, "enqueue", "k", "--stdin")
			if list := get[[]jobs.Job](c, "list"); len(list) != 0 {
				t.Errorf("%d jobs were added", len(list))
			}
		})
	}
	c := newCLI(t)
	c.failsWith(exitFailure, "", []string{"standard input", "JSON"}, "enqueue", "k", "-")
}

func enqueueLines(t *testing.T, c *cli) {
	largest := `"` + strings.Repeat("x", jobs.MaxPayload-2) + `"`
	a := c.runWith(strings.NewReader("{\"b\": 1}\r\n\n   \n"+largest+"\n 3 "), "enqueue", "k", "--stdin", "--queue", "q")
	if a.code != exitOK || a.out != "1\n2\n3\n" || a.err != "" {
		t.Fatalf("%+v", a)
	}
	for id, want := range map[string]string{"1": `{"b": 1}`, "2": largest, "3": "3"} {
		job := c.show(id)
		if job.Queue != "q" || strings.Join(strings.Fields(string(job.Payload)), " ") != strings.Join(strings.Fields(printedJSON(want)), " ") {
			t.Errorf("job %s is of queue %s, with a payload of %d bytes", id, job.Queue, len(job.Payload))
		}
	}
	if a := c.run("enqueue", "k", "--stdin"); a.code != exitOK || a.out != "" {
		t.Errorf("no lines: %+v", a)
	}
	lines := strings.Repeat("{}\n", 25_000)
	a = c.runWith(strings.NewReader(lines), "enqueue", "many", "--stdin")
	if a.code != exitOK || strings.Count(a.out, "\n") != 25_000 || !strings.HasSuffix(a.out, "\n25003\n") {
		t.Errorf("25,000 lines: exit code %d, %d ids\n%s", a.code, strings.Count(a.out, "\n"), a.err)
	}
	if a := c.runWith(strings.NewReader("1\n2\n"), "enqueue", "k", "--stdin", "--json"); !strings.Contains(a.out, `"ids"`) {
		t.Errorf("as JSON: %+v", a)
	}
}

// Each line is a job of any kind, with options. All are added, or none.
func enqueueItems(t *testing.T, c *cli) {
	const lines = `{"kind": "mail", "payload": {"to": "ann"}, "priority": 5, "unique_key": "ann", "queue": "out"}

{"kind": "resize", "delay_ns": 3600000000000}
{"kind": "mail", "payload": 2, "unique_key": "ann", "unique_mode": "replace"}
`
	a := c.runWith(strings.NewReader(lines), "enqueue", "--items", "--json")
	var got struct{ Jobs []jobs.Receipt }
	if err := json.Unmarshal([]byte(a.out), &got); err != nil || len(got.Jobs) != 3 || got.Jobs[0].Existed || got.Jobs[1].Existed ||
		got.Jobs[2] != (jobs.Receipt{ID: got.Jobs[0].ID, Existed: true, Replaced: true}) {
		t.Fatalf("%v, %+v", err, a)
	}
	if job := c.show(fmt.Sprint(got.Jobs[0].ID)); job.Kind != "mail" || string(job.Payload) != "2" {
		t.Errorf("the first job is %+v", job)
	}
	if job := c.show(fmt.Sprint(got.Jobs[1].ID)); job.Kind != "resize" || job.Status != jobs.StatusScheduled {
		t.Errorf("the second job is %+v", job)
	}
	if a := c.runWith(strings.NewReader(`{"kind": "k"}`), "enqueue", "--items"); a.out != fmt.Sprintln(got.Jobs[1].ID+1) {
		t.Errorf("one job: %+v", a)
	}
	before := c.run("list", "--json").out
	for bad, texts := range map[string][]string{
		`{"kind": "k"}` + "\n\n" + `{"knd": "k"}`: {"line 3", `no field "knd"`, "nothing was added"},
		`{"kind": "k", "kind": "k"}`:              {"line 1", "unknown or repeated"},
		`{"kind": "k", "priority": "5"}`:          {"line 1", "priority", "integer"},
		`[1]`:                                     {"line 1", "an object"},
		`{"kind": "k"} {}`:                        {"line 1", "one JSON document"},
		"\uFEFF{}":                                {"line 1", "byte order mark"},
		`{"kind": "k", "delay_ns": 1, "run_after": "2030-01-01T00:00:00Z"}`: {"delay_ns", "run_after"},
		`{"kind": "k"}` + "\n" + `{"kind": "k", "priority": 99999}`:         {"item 1", "priority", "32767", "nothing was added"},
		`{"kind": ""}`: {"line 1", "kind"},
		`{"kind": "k", "payload": "` + strings.Repeat("x", newjob.MaxBytes) + `"}`: {"line 1", fmt.Sprint(newjob.MaxBytes)},
	} {
		c.failsWith(exitFailure, bad, texts, "enqueue", "--items")
	}
	c.fails(exitUsage, []string{"--queue", "--items"}, "enqueue", "--items", "--queue", "q")
	c.fails(exitUsage, []string{"arguments", "--items"}, "enqueue", "k", "--items")
	if after := c.run("list", "--json").out; after != before {
		t.Errorf("something was added: %s", after)
	}
}

// printedJSON returns a payload as the indented answer has it, apart from blanks.
func printedJSON(payload string) string {
	return strings.NewReplacer("{", "{ ", "}", " }").Replace(payload)
}

func TestTheFirstProcessesMakeTheDatabaseTogether(t *testing.T) {
	c := newCLI(t)
	var all []*process
	for i := range 6 {
		all = append(all, c.start("enqueue", "k", fmt.Sprint(i)))
	}
	all = append(all, c.start("up"))
	for _, p := range all {
		p.wantExit(exitOK)
	}
	if list := get[[]jobs.Job](c, "list"); len(list) != len(all)-1 {
		t.Errorf("there are %d jobs, want %d", len(list), len(all)-1)
	}
}

// blockingReader blocks for ever, as a terminal without input does.
type blockingReader struct{ reached chan struct{} }

func (b blockingReader) Read([]byte) (int, error) {
	close(b.reached)
	select {}
}

func TestASignalEndsTheWaitForInput(t *testing.T) {
	for _, args := range [][]string{{"enqueue", "k", "-"}, {"enqueue", "k", "--stdin"}} {
		c := newCLI(t)
		ctx, cancel := context.WithCancelCause(t.Context())
		stdin := blockingReader{make(chan struct{})}
		go func() {
			<-stdin.reached
			cancel(&interruptedError{os.Interrupt})
		}()
		var out, errs strings.Builder
		code := run(ctx, append(args, "--db", c.db), stdin, &out, &errs, nil)
		if code != exitFailure || !strings.Contains(errs.String(), "stopped by signal: interrupt") || exists(c.db) {
			t.Errorf("%q: exit code %d, standard error %q", args, code, errs.String())
		}
	}
}

func TestEnqueueMakesNoFolder(t *testing.T) {
	c := newCLI(t)
	parent := filepath.Join(filepath.Dir(c.db), "missing")
	c.db = filepath.Join(parent, "jobs.db")
	c.fails(exitFailure, []string{c.db}, "enqueue", "k")
	if exists(parent) {
		t.Error("the folder was made")
	}
}

func TestAFullStandardOutputIsAFailure(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("the system has no /dev/full")
	}
	defer full.Close()
	c := newCLI(t)
	c.ok("up")
	var errs strings.Builder
	code := run(t.Context(), []string{"list", "--db", c.db}, strings.NewReader(""), full, &errs, nil)
	if code != exitFailure || !strings.Contains(errs.String(), "the command succeeded, but writing to standard output failed: ") {
		t.Errorf("exit code %d, standard error %q", code, errs.String())
	}
	id := c.enqueue("k")
	errs.Reset()
	code = run(t.Context(), []string{"cancel", id, "999", "--db", c.db}, strings.NewReader(""), full, &errs, nil)
	if code != exitFailure || strings.Contains(errs.String(), "succeeded") || !strings.Contains(errs.String(), "write to standard output: ") || !strings.Contains(errs.String(), "job 999") {
		t.Errorf("of a command that failed: exit code %d, standard error %q", code, errs.String())
	}
}

// Editors and shells of Windows write a byte order mark that no screen shows.
func TestByteOrderMarksAreNamed(t *testing.T) {
	c := newCLI(t)
	c.failsWith(exitFailure, "\uFEFF{}\n{}\n", []string{"line 1", "byte order mark"}, "enqueue", "k", "--stdin")
	c.failsWith(exitFailure, "\xFF\xFE{\x00}\x00\n\x00", []string{"line 1", "byte order mark"}, "enqueue", "k", "--stdin")
	c.failsWith(exitFailure, "\uFEFF{}", []string{"byte order mark"}, "enqueue", "k", "-")
	c.fails(exitUsage, []string{"PAYLOAD", "byte order mark"}, "enqueue", "k", "\uFEFF{}")
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("\uFEFFa long and secret token\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.fails(exitFailure, []string{"read the token", "byte order mark"}, "serve", "--token-file", file)
	c.fails(exitFailure, []string{"read the keys", "byte order mark"}, "list", "--keys", file)
	c.fails(exitFailure, []string{"read the secret", "byte order mark"}, "work", "--post", "k=https://example.com/", "--post-secret-file", file)
}
