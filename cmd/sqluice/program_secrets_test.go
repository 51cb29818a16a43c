package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/sqluice/sqluice/jobs"
)

// aKey returns a key of three kilobytes whose parts occur nowhere else.
func aKey() string {
	var key strings.Builder
	key.WriteString("-----BEGIN KEY-----\n")
	for i := 0; key.Len() < 3<<10; i++ {
		fmt.Fprintf(&key, "<%05x>/", i)
		if i%8 == 7 {
			key.WriteByte('\n')
		}
	}
	return key.String()
}

// keyParts returns parts of the key; a text with one of them shows a part of the key.
func keyParts(key string) (parts []string) {
	for at := 20; at+6 <= len(key); at += 6 {
		parts = append(parts, strings.TrimSpace(key[at:at+6]))
	}
	return parts
}

// programsTellNoSecrets: however a program writes a marked value to standard error before it fails, no part of the value is
// in the log, the job, its errors or what commands print.
func programsTellNoSecrets(t *testing.T, c *cli) {
	c.ok("up")
	key := aKey()
	payload, err := json.Marshal(map[string]string{"key": key})
	if err != nil {
		t.Fatal(err)
	}
	ways := []string{"plain", "last", "long before", "pieces", "JSON", "flood", "unfinished"}
	args := []string{"work", "--drain", "--log-level", "debug"}
	ids := map[string]string{}
	for _, way := range ways {
		kind := strings.ReplaceAll(way, " ", "-")
		c.ok("sensitive", "mark", kind, "key")
		ids[way] = strings.TrimSpace(c.runWith(strings.NewReader(string(payload)), "enqueue", kind, "-", "--max-attempts", "1").out)
		args = append(args, "--exec", execFlag(t, kind, "tell", way))
	}
	told := map[string]string{}
	worker := c.run(args...)
	told["the log"] = worker.out + worker.err
	for way, id := range ids {
		job := c.show(id)
		if job.Status != jobs.StatusFailed || !strings.HasPrefix(job.LastError, "exit status 1") {
			t.Errorf("%s: the job is %s with %q", way, job.Status, job.LastError)
		}
		told[way] = c.ok("show", id) + c.ok("show", id, "--json")
	}
	told["the report"] = c.ok("failed") + c.ok("failed", "--all") + c.ok("list", "--json")
	for where, text := range told {
		for _, part := range keyParts(key) {
			if len(part) > 3 && strings.Contains(text, part) {
				t.Errorf("%s has %q of the key: %.300s", where, part, text)
				break
			}
		}
	}
	if text := c.show(ids["plain"]).LastError; text != "exit status 1: "+jobs.Redacted {
		t.Errorf("the key alone becomes %q", text)
	}
	if text := c.show(ids["long before"]).LastError; !strings.HasSuffix(text, "zzzz") {
		t.Errorf("what follows the key becomes %q", text)
	}
}
