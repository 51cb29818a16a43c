package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestProgramsGetNoToken checks that the server's token is not passed to programs, wherever the worker has it from, nor the database's
// URL, unless --env names the variable.
func TestProgramsGetNoToken(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(testToken), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, flags := range [][]string{
		nil, {"--metrics", "127.0.0.1:0"}, {"--metrics", "127.0.0.1:0", "--token-file", file}, {"--env", "SQLUICE_DB"},
	} {
		c := newCLI(t)
		c.ok("up")
		id := c.enqueue("k")
		p := c.startWith([]string{tokenVariable + "=" + testToken, tokenVariable + "_NOT=kept"},
			append([]string{"work", "--drain", "--exec", execFlag(t, "k", "env"), "--env", tokenVariable + "_NOT"}, flags...)...)
		p.wantExit(exitOK)
		var environment map[string]string
		if err := json.Unmarshal(c.show(id).Result, &environment); err != nil {
			t.Fatal(err)
		}
		wanted := ""
		if slices.Contains(flags, "SQLUICE_DB") {
			wanted = c.db
		}
		if token, there := environment[tokenVariable]; there || environment[tokenVariable+"_NOT"] != "kept" || environment["SQLUICE_DB"] != wanted {
			t.Errorf("with %q the program got the token %q in %v", flags, token, environment)
		}
	}
}

// TestProgramsGetFewVariables checks that a program gets the variables of the help text, of --env and of its job, and no others.
func TestProgramsGetFewVariables(t *testing.T) {
	c := newCLI(t)
	id := c.enqueue("k")
	worker := c.startWith([]string{
		"LC_TIME=C", "LANG=C", "TZ=UTC", "TMPDIR=" + t.TempDir(), "USER=u", "LOGNAME=u", "SHELL=/bin/sh", "HOME=/", "OWN=1", "OWN_NOT=1",
		"PGPASSWORD=secret", "PGPASSFILE=/x", "DATABASE_URL=postgres://u:secret@h/n", "AWS_SECRET_ACCESS_KEY=secret", "SQLUICE_OTHER=1",
	}, "work", "--drain", "--exec", execFlag(t, "k", "names"), "--env", "OWN", "--env", "NOT_SET")
	worker.wantExit(exitOK)
	var names []string
	if err := json.Unmarshal(c.show(id).Result, &names); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"HOME", "LANG", "LC_TIME", "LOGNAME", "OWN", "PATH", "SHELL", "SQLUICE_ATTEMPT", "SQLUICE_JOB_ID", "SQLUICE_KIND",
		"SQLUICE_MAX_ATTEMPTS", "SQLUICE_PAYLOAD_VERSION", "SQLUICE_QUEUE", "TMPDIR", "TZ", "USER",
	}
	// The environment of the test may have more of LC_*.
	names = slices.DeleteFunc(names, func(name string) bool { return strings.HasPrefix(name, "LC_") && name != "LC_TIME" })
	if slices.Sort(names); !slices.Equal(names, want) {
		t.Errorf("the program gets %q, want %q", names, want)
	}
	if log := worker.errs.String(); !strings.Contains(log, "NOT_SET") || strings.Contains(log, "name=OWN") {
		t.Errorf("the log does not name the variable that is not set:\n%s", log)
	}
}

func TestFaultsOfEnv(t *testing.T) {
	c := newCLI(t)
	for value, text := range map[string]string{"": "name of an environment variable", "A=secret": "without a value"} {
		c.fails(exitUsage, []string{"--env", text}, "work", "--exec", "k=true", "--env", value)
	}
}
