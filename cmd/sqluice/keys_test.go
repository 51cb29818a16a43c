package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/sqluice/sqluice/cmd/sqluice/internal/address"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// keysFile returns the path of a file of keys with the ids.
func keysFile(t *testing.T, ids ...string) string {
	t.Helper()
	path, text := filepath.Join(t.TempDir(), "keys"), "# keys\n\n"
	for _, id := range ids {
		text += id + " " + base64.StdEncoding.EncodeToString([]byte(strings.Repeat(id[:1], 32))) + "\n"
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// encryptedIsNowhere: what jobs carry whose worker and client have keys is in no answer of the server, in no output of a command, in no log
// at level debug, and in no byte of a SQLite database, its WAL and a backup. The worker's programs get it.
func encryptedIsNowhere(t *testing.T, c *cli) {
	c.ok("up")
	const secret = "4111-2222-3333"
	const payload = `{"card":"` + secret + `","of":"ann"}`
	keys := keysFile(t, "a")
	told := map[string]string{}
	tell := func(where string, texts ...string) { told[where] += strings.Join(texts, "\n") }
	failed, done := c.enqueue("charge", payload, "--keys", keys, "--max-attempts", "1"), c.enqueue("keep", payload, "--keys", keys)
	c.ok("schedules", "put", "nightly", "--cron", "0 2 * * *", "--kind", "charge", payload, "--keys", keys)
	worker := c.startWith(nil, "work", "--drain", "--log-level", "debug", "--keys", keys,
		"--exec", "charge=sh -c 'cat >&2; echo; exit 1'", "--exec", "keep=cat")
	worker.wantExit(exitOK)
	tell("the worker's log", worker.out.String(), worker.errs.String())
	server, api := c.serving(nil, "--log-level", "debug", "--keys", keys)
	root := strings.TrimSuffix(api, "/api/admin")
	for _, path := range []string{
		"/api/admin/jobs", "/api/admin/jobs?status=failed", "/api/admin/jobs?q=4111", "/api/admin/jobs/" + failed, "/api/admin/jobs/" + done,
		"/api/admin/failed", "/api/admin/schedules", "/api/admin/jobs/" + failed + "/why",
		"/", "/jobs", "/jobs/" + failed, "/jobs/" + done, "/failed", "/schedules", "/schedules/nightly", "/metrics", "/audit",
	} {
		status, text := fetch(t, http.MethodGet, root+path, "", "")
		tell(path, text)
		if status != http.StatusOK {
			t.Errorf("%s is answered with %d", path, status)
		}
	}
	server.signal(syscall.SIGTERM)
	server.wantExit(exitOK)
	tell("the server's log", server.out.String(), server.errs.String())
	for _, args := range [][]string{
		{"list"}, {"show", failed}, {"show", done}, {"failed"}, {"failed", "--all"}, {"why", failed}, {"schedules"}, {"audit"}, {"top", "--once"},
	} {
		for _, more := range [][]string{nil, {"--keys", keys}} {
			tell(strings.Join(args, " "), c.ok(append(args, more...)...))
		}
	}
	if !strings.Contains(told["show "+done], jobs.Encrypted) {
		t.Errorf("show prints\n%s", told["show "+done])
	}
	if d, err := address.Parse(c.db); err == nil && !d.Postgres() {
		backup := filepath.Join(t.TempDir(), "backup.db")
		c.ok("backup", backup)
		for _, path := range []string{c.db, c.db + "-wal", backup} {
			text, err := os.ReadFile(path)
			if err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
			tell(path, string(text))
		}
	}
	for where, text := range told {
		if strings.Contains(text, secret) {
			t.Errorf("the secret is in %s", where)
		}
	}
	cipher, err := jobs.NewCipher(jobs.Key{ID: "a", Secret: []byte(strings.Repeat("a", 32))})
	if err != nil {
		t.Fatal(err)
	}
	d, err := address.Parse(c.db)
	if err != nil {
		t.Fatal(err)
	}
	store, err := openDatabase(t.Context(), d, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	list, err := inspect.New(jobs.New(store, jobs.WithCipher(cipher)).Revealed()).List(t.Context(), inspect.Filter{})
	if err != nil || len(list) != 2 {
		t.Fatal(list, err)
	}
	for _, job := range list {
		if string(job.Payload) != payload {
			t.Errorf("the payload is %s", job.Payload)
		}
		if job.Kind == "keep" && string(job.Result) != payload || job.Kind == "charge" && !strings.Contains(job.LastError, secret) {
			t.Errorf("the result is %s and the error %q: the programs did not get the payload", job.Result, job.LastError)
		}
	}
}

func keysChange(t *testing.T, c *cli) {
	c.ok("up")
	old, both, next := keysFile(t, "a"), keysFile(t, "b", "a"), keysFile(t, "b")
	id := c.enqueue("k", `{"n":1}`, "--keys", old)
	if out := c.ok("rekey", "--keys", both); out != "encrypted: 1 jobs, 0 errors of attempts, 0 schedules\n" {
		t.Errorf("rekey prints %q", out)
	}
	a := c.run("rekey", "--keys", old)
	if a.code != exitFailure || !strings.Contains(a.err, `keys that the file does not have: 1 with "b"`) {
		t.Errorf("rekey without the key: %+v", a)
	}
	wrong := filepath.Join(t.TempDir(), "wrong")
	if err := os.WriteFile(wrong, []byte("b\t"+base64.StdEncoding.EncodeToString([]byte(strings.Repeat("w", 32)))), 0o600); err != nil {
		t.Fatal(err)
	}
	a = c.run("rekey", "--keys", wrong)
	if a.code != exitFailure || !strings.Contains(a.err, "cannot be decrypted with the key") || !strings.Contains(a.err, "job "+id+": payload") {
		t.Errorf("rekey with another secret: %+v", a)
	}
	c.ok("work", "--drain", "--exec", execFlag(t, "k", "echo"), "--keys", next)
	if job := c.show(id); job.Status != jobs.StatusDone {
		t.Errorf("the job is %+v", job)
	}
	c.enqueue("k", "2")
	if done := get[inspect.Rekeyed](c, "rekey", "--keys", next, "--plain"); done.Jobs != 1 {
		t.Errorf("rekey --plain: %+v", done)
	}
}

// errorsAreRevealed: with keys and --reveal a person reads errors, and no payload; the audit log names the person.
func errorsAreRevealed(t *testing.T, c *cli) {
	c.ok("up")
	keys, other := keysFile(t, "a"), keysFile(t, "b")
	id := c.enqueue("charge", `{"card":"4111-2222-3333"}`, "--keys", keys, "--max-attempts", "1")
	c.ok("work", "--drain", "--keys", keys, "--exec", "charge=sh -c 'cat >/dev/null; echo the gateway says no >&2; exit 1'")
	for _, args := range [][]string{{"show", id}, {"show", id, "--json"}, {"failed"}, {"failed", "--json"}, {"failed", "--all", "--kind", "charge"}} {
		hidden := c.ok(append(args, "--keys", keys)...)
		shown := c.ok(append(args, "--keys", keys, "--reveal")...)
		if strings.Contains(hidden, "the gateway") || !strings.Contains(shown, "the gateway says no") || strings.Contains(shown, "4111") {
			t.Errorf("%v prints without --reveal\n%sand with it\n%s", args, hidden, shown)
		}
		c.fails(exitUsage, []string{"--reveal", "--keys", "SQLUICE_KEYS"}, append(args, "--reveal")...)
		a := c.run(append(args, "--keys", other, "--reveal")...)
		if a.code != exitOK || strings.Contains(a.out, "the gateway") || !strings.Contains(a.err, "do not decrypt: 1") {
			t.Errorf("%v with another key: %+v", args, a)
		}
	}
	entries := get[[]inspect.AuditEntry](c, "audit", "--action", "reveal errors")
	if len(entries) != 10 || !strings.HasPrefix(entries[0].Actor, "cli:") {
		t.Fatalf("the audit log has %+v", entries)
	}
	var filter struct{ Filter map[string]string }
	if err := json.Unmarshal(entries[0].Detail, &filter); err != nil || filter.Filter["kind"] != "charge" || filter.Filter["status"] != "failed" {
		t.Errorf("the entry of failed is %+v", entries[0])
	}
	if first := entries[len(entries)-1]; fmt.Sprint(first.JobID) != id || first.Kind != "charge" {
		t.Errorf("the entry of show is %+v", first)
	}
}

func usersAreForgotten(t *testing.T, c *cli) {
	c.ok("up")
	id, another := c.enqueue("k", "7", "--user-id", "42"), c.enqueue("k", "7", "--user-id", "43")
	out := c.ok("forget", "--user", "42")
	for _, line := range []string{"cancelled: 1 jobs", "erased: 1 jobs", "not reached: backups"} {
		if !strings.Contains(out, line) {
			t.Errorf("forget prints\n%s", out)
		}
	}
	if job := c.show(id); string(job.Payload) != `"`+jobs.Forgotten+`"` || job.Status != jobs.StatusCancelled {
		t.Errorf("the job is %+v", job)
	}
	if job := c.show(another); string(job.Payload) != "7" {
		t.Errorf("the other job is %+v", job)
	}
	if out := c.ok("audit"); !strings.Contains(out, "forget") {
		t.Errorf("audit prints\n%s", out)
	}
	if out := c.ok("forget", "--user", "none", "--json"); !strings.Contains(out, `"schedules": []`) {
		t.Errorf("forget of a user without jobs prints\n%s", out)
	}
	if done := get[inspect.Forgotten](c, "forget", "--user", "42"); done.Erased != 0 || done.Live != 0 {
		t.Errorf("forgotten again: %+v", done)
	}
}

func TestKeysThatAreWrong(t *testing.T) {
	c := newCLI(t)
	c.ok("up")
	c.fails(exitUsage, []string{"there are no keys", "--keys", "SQLUICE_KEYS"}, "rekey")
	c.fails(exitFailure, []string{"read the keys"}, "rekey", "--keys", filepath.Join(t.TempDir(), "none"))
	c.fails(exitUsage, []string{"--user is missing"}, "forget")
	c.fails(exitUsage, []string{"--user"}, "forget", "--user", "a\x01")
	large := filepath.Join(t.TempDir(), "large")
	if err := os.WriteFile(large, make([]byte, 2<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	c.fails(exitFailure, []string{"read the keys", "at most 1048576 bytes"}, "rekey", "--keys", large)
	for text, want := range map[string]string{
		"": "there is none", "# only\n": "there is none", "a": "line 1 must be", "\na not-base64!": "line 2 must be", "a aGVsbG8=": "must be of 32 bytes",
	} {
		path := filepath.Join(t.TempDir(), "keys")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		a := c.run("enqueue", "k", "--keys", path)
		if a.code != exitUsage || !strings.Contains(a.err, want) || strings.Contains(a.err, "not-base64") || strings.Contains(a.err, "aGVsbG8") {
			t.Errorf("of %q enqueue says %d %s", text, a.code, a.err)
		}
	}
}
