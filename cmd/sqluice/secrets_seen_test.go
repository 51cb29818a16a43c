package main

import (
	"net/http"
	"strings"
	"syscall"
	"testing"
)

func secretTests() tests {
	return tests{"SecretsAreNowhere": secretsAreNowhere, "EncryptedIsNowhere": encryptedIsNowhere, "KeysChange": keysChange, "ErrorsAreRevealed": errorsAreRevealed, "UsersAreForgotten": usersAreForgotten, "ProgramsTellNoSecrets": programsTellNoSecrets}
}

// secretsAreNowhere: a server's token, a wrong token in a request, and values that a kind marks as sensitive are in no answer
// of the server, in no output of a command and in no log at level debug, also if a program writes its payload to standard
// error and fails.
func secretsAreNowhere(t *testing.T, c *cli) {
	c.ok("up")
	c.ok("sensitive", "mark", "charge", "card", "result:*")
	told := map[string]string{}
	tell := func(where string, texts ...string) { told[where] += strings.Join(texts, "\n") }
	const payload = `{"card":"4111-2222-3333","of":"ann"}`
	var ids []string
	for _, kind := range []string{"charge", "charge", "charge"} {
		ids = append(ids, c.enqueue(kind, payload, "--max-attempts", "1", "--tag", "t"))
	}
	env := []string{tokenVariable + "=" + testToken}
	for _, format := range []string{"text", "json"} {
		worker := c.startWith(env, "work", "--drain", "--log-level", "debug", "--log-format", format, "--metrics", "127.0.0.1:0", "--exec", "charge=sh -c 'cat >&2; echo; exit 1'")
		worker.wantExit(exitOK)
		tell("the worker's log", worker.out.String(), worker.errs.String())
		if !strings.Contains(worker.errs.String(), "attempt failed") || !strings.Contains(worker.errs.String(), "[redacted]") {
			t.Errorf("the worker's log does not tell of the errors: %s", worker.errs.String())
		}
		c.ok("retry", ids[0])
	}
	worker := c.startWith(env, "work", "--drain", "--log-level", "debug", "--exec", "charge=cat") // whose output is the result
	worker.wantExit(exitOK)
	tell("the worker's log", worker.out.String(), worker.errs.String())

	for _, format := range []string{"text", "json"} {
		server, api := c.serving(env, "--log-level", "debug", "--log-format", format)
		root := strings.TrimSuffix(api, "/api/admin")
		for _, token := range []string{testToken, "another wrong token 99", ""} {
			for _, path := range []string{
				"/api/admin/jobs", "/api/admin/jobs?status=failed", "/api/admin/jobs?q=4111", "/api/admin/jobs/" + ids[0], "/api/admin/jobs/" + ids[1], "/api/admin/failed",
				"/api/admin/audit", "/api/admin/stats", "/api/admin/queues", "/api/admin/workers", "/api/admin/history", "/api/admin/jobs/x", "/api/admin/nothing",
				"/api/admin/jobs/" + ids[1] + "/why", "/", "/jobs", "/jobs?status=failed", "/jobs/" + ids[0], "/jobs/" + ids[1], "/failed", "/queues", "/schedules", "/workers", "/audit", "/metrics",
				"/api/admin/schedules",
			} {
				status, text := fetch(t, http.MethodGet, root+path, token, "")
				tell(path, text)
				if refused := status == http.StatusUnauthorized; refused == (token == testToken) {
					t.Errorf("%s is answered with %d", path, status)
				}
			}
			_, text := fetch(t, http.MethodPost, root+"/api/admin/jobs", token, `{"kind": "charge", "payload": {"card": "4111-2222-3333"}, "queue": ""}`)
			tell("a faulty enqueue", text)
			_, text = fetch(t, http.MethodPost, root+"/api/admin/jobs", token, `{"kind": "charge", "payload": {"card": "4111-2222-3333"}`)
			tell("an enqueue that is no JSON", text)
		}
		server.signal(syscall.SIGTERM)
		server.wantExit(exitOK)
		tell("the server's log", server.out.String(), server.errs.String())
	}
	for _, args := range [][]string{
		{"list"}, {"list", "--json"}, {"list", "--search", "4111", "--json"}, {"show", ids[0]}, {"show", ids[0], "--json"}, {"show", ids[1]}, {"show", ids[1], "--json"},
		{"failed"}, {"failed", "--json"}, {"audit"}, {"audit", "--json"}, {"stats"}, {"queues"}, {"workers"}, {"why", ids[1]}, {"wait", ids[0]}, {"wait", ids[0], "--json"},
		{"sensitive"}, {"status"}, {"enqueue", "charge", `{"card":"4111-2222-3333"`},
	} {
		a := c.run(args...)
		if faulty := args[0] == "enqueue"; faulty != (a.code == exitUsage) {
			t.Errorf("sqluice %q: exit code %d\n%s", args, a.code, a.err)
		}
		tell("sqluice "+strings.Join(args[:1], " "), a.out, a.err)
	}
	for where, text := range told {
		for secret, what := range map[string]string{
			testToken: "the token", "another wrong token 99": "a wrong token", "4111-2222-3333": "what its kind marks as sensitive",
		} {
			if strings.Contains(text, secret) {
				at := strings.Index(text, secret)
				t.Errorf("%s has %s: %s", where, what, text[max(0, at-200):min(len(text), at+100)])
			}
		}
	}
}
