package main

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// closedPort is an address at which no server listens: a connection is refused at once.
const closedPort = "127.0.0.1:1"

// secretAddresses returns valid and invalid ways to name a database, each with a password that is or contains "secret", and
// the exit code of a command that gets it: 1 if it asks the server, 2 if it refuses the address.
func secretAddresses() map[string]int {
	return map[string]int{
		"postgres://u:secret@" + closedPort + "/n":                                 exitFailure,
		"postgresql://u:secret@" + closedPort + "/n":                               exitFailure,
		"POSTGRES://u:secret@" + closedPort + "/n":                                 exitFailure,
		"\n postgres://u:secret@" + closedPort + "/n \t\n":                         exitFailure,
		"postgres://u:secret@/n?host=/no/such/folder":                              exitFailure,
		"postgres://:secret@" + closedPort + "/n":                                  exitFailure,
		"postgres://u:a@secret@" + closedPort + "/n":                               exitUsage,
		"postgres://u:secret@h1,u:secret@h2/n":                                     exitUsage,
		"postgres://" + closedPort + "/n?pasword=a secret":                         exitUsage,
		"postgres://" + closedPort + "/n?pasword=a=secret":                         exitUsage,
		"postgres://" + closedPort + "/n?pasword&secret=":                          exitUsage,
		"postgres://u:a:secret@" + closedPort + "/n":                               exitFailure,
		"postgres://u:%40%2F%3F%23%25secret%22%27@" + closedPort + "/n":            exitFailure,
		"postgres://u:$&+,;=secret!*()@" + closedPort + "/n":                       exitFailure,
		"postgres://" + closedPort + "/n?user=u&password=secret":                   exitFailure,
		"postgres://" + closedPort + "/n?password=secret&password=secret":          exitFailure,
		"postgres://" + closedPort + "/n?PASSWORD=secret&pasword=secret":           exitFailure,
		"postgres://" + closedPort + "/n?sslpassword=secret&passwd=secret":         exitFailure,
		"postgres://" + closedPort + "/n?schema=jobs&password=%73ecret":            exitFailure,
		"postgres://u:secret@" + closedPort + "," + closedPort + "/n":              exitFailure,
		"postgres://u:secret@" + closedPort + "/n?sslmode=secret":                  exitUsage,
		"postgres://u:secret@" + closedPort + "/n?connect_timeout=soon":            exitUsage,
		"postgres://u:secret@" + closedPort + "/n?pool_max_conns=many":             exitUsage,
		"postgres://u:secret@" + closedPort + "/n?sslrootcert=/no/such/file":       exitUsage,
		"postgres://u:secret@" + closedPort + "/n?poll=never":                      exitUsage,
		"postgres://u:secret@" + closedPort + "/n?notify=perhaps":                  exitUsage,
		"postgres://u:secret@" + closedPort + "/n?schema=":                         exitUsage,
		"postgres://u:secret@" + closedPort + "/n?schema=pg_own":                   exitUsage,
		"postgres://u:secret@" + closedPort + "/n?a=1?b=2":                         exitUsage,
		"postgres://u:secret@" + closedPort + "/n?schema=a?password=secret":        exitUsage,
		"postgres://u:secret@" + closedPort + "/n?schema=a;password=secret":        exitUsage,
		"postgres://u:secret@" + closedPort + "/n?password=%zzsecret":              exitUsage,
		"postgres://u:secret@" + closedPort + "/n#part":                            exitUsage,
		"postgres://u:secret@h:port/n":                                             exitUsage,
		"postgres://u:secret@h:99999999/n":                                         exitUsage,
		"postgres://u:secret@[::1/n":                                               exitUsage,
		"postgres://u:secret@h%zz/n":                                               exitUsage,
		"postgres://u:secret@h /n":                                                 exitUsage,
		"postgres://u:secret/n":                                                    exitUsage,
		"postgres://u:secret%@h/n":                                                 exitUsage,
		"postgres://u:%zzsecret@h/n":                                               exitUsage,
		"postgres://u:a secret@h/n":                                                exitUsage,
		"postgres://u:\"secret\"@h/n":                                              exitUsage,
		"postgres://u:secret\u00e9@h/n":                                            exitUsage,
		"postgres://u:secret\\@h/n":                                                exitUsage,
		"postgres://u:secret\x00@h/n":                                              exitUsage,
		"postgres://u:a/secret@h/n":                                                exitUsage,
		"postgres://u:12/secret@h/n":                                               exitUsage,
		"postgres://u:12?secret@h/n":                                               exitUsage,
		"postgres://u:12#secret@h/n":                                               exitUsage,
		"postgres://u:/secret@h/n":                                                 exitUsage,
		"postgres://u:?secret@h/n":                                                 exitUsage,
		"postgres://u:#secret@h/n":                                                 exitUsage,
		"postgres:/u:secret@h/n":                                                   exitUsage,
		"postgres:u:secret@h/n":                                                    exitUsage,
		"postgresql+driver://u:secret@h/n":                                         exitUsage,
		"jdbc:postgresql://h/n?user=u&password=secret":                             exitUsage,
		"sqlite:postgres://u:secret@h/n":                                           exitUsage,
		"mysql://u:secret@h/n":                                                     exitUsage,
		"//u:secret@h/n":                                                           exitUsage,
		"u:secret@h:5432/n":                                                        exitUsage,
		"u:a/secret@h":                                                             exitUsage,
		"'postgres://u:secret@h/n'":                                                exitUsage,
		"DATABASE_URL=postgres://u:secret@h/n":                                     exitUsage,
		"host=h user=u password=secret":                                            exitUsage,
		" user = u password = 'secret' host = h":                                   exitUsage,
		"file:jobs.db?password=secret":                                             exitUsage,
		"postgres://u:secret@h/n\npostgres://u:secret@h/n":                         exitUsage,
		"postgres://u:secret@" + closedPort + "/n?session=postgres://u:secret@h/n": exitUsage,
	}
}

// silent expects a command to exit with one of the codes, and its output to have no password.
func silent(t *testing.T, what string, a answer, codes ...int) {
	t.Helper()
	if !slices.Contains(codes, a.code) {
		t.Errorf("%s: exit code %d, want %d\n%s", what, a.code, codes, a.err)
	}
	for name, text := range map[string]string{"output": a.out, "error": a.err} {
		if strings.Contains(strings.ToLower(text), "secret") {
			t.Errorf("%s: standard %s shows the password:\n%s", what, name, text)
		}
	}
	if strings.Contains(a.err, "goroutine ") {
		t.Errorf("%s panicked:\n%s", what, a.err)
	}
}

func TestPasswordsAreNotPrinted(t *testing.T) {
	file := filepath.Join(t.TempDir(), "copy")
	for address, code := range secretAddresses() {
		commands := [][]string{
			{"list"}, {"list", "--json"}, {"status"}, {"status", "--json"}, {"up"}, {"down"}, {"enqueue", "k"}, {"workers"},
			{"wait", "1", "--timeout", "1m"}, {"prune", "--older-than", "1h"}, {"bench"},
		}
		if code == exitUsage {
			commands = append(commands, []string{"backup", file}, []string{"work", "--exec", execFlag(t, "k", "echo")})
		}
		for _, args := range commands {
			c := &cli{t, filepath.Join(t.TempDir(), "jobs.db")}
			silent(t, strings.Join(args, " ")+" --db "+address, c.run(append(args, "--db", address)...), code)
			if !strings.Contains(address, "\x00") { // which no environment can hold
				c.db = address
				silent(t, "SQLUICE_DB="+address+" "+strings.Join(args, " "), c.run(args...), code)
			}
		}
		c := newCLI(t)
		silent(t, "help --db "+address, c.run("list", "--help", "--db", address), exitOK, exitUsage)
	}
}

func TestPasswordsThatStandInTheWrongPlaceAreNotPrinted(t *testing.T) {
	const address = "postgres://u:secret@h/n"
	c := newCLI(t)
	c.ok("up")
	for _, args := range [][]string{
		{address}, {address, "list"}, {"-db=" + address, "list"}, {"-d", address, "list"}, {"--db" + address, "list"},
		{"--database=" + address, "list"}, {"--=" + address, "list"}, {"list", address}, {"help", address}, {"show", address},
		{"wait", address}, {"cancel", address}, {"retry", address, "--failed"}, {"delete", address, "--status", "done"},
		{"list", "--limit", address}, {"list", "--after", address}, {"list", "--status", address}, {"list", "--json=" + address},
		{"wait", "1", "--timeout", address}, {"enqueue", "k", address}, {"enqueue", "k", "{}", address},
		{"enqueue", "k", address, "--stdin"}, {"enqueue", "k", "--at", address}, {"enqueue", "k", "--in", address},
		{"enqueue", "k\n" + address}, {"enqueue", "k", "--queue", "\n" + address}, {"work", "--exec", address},
		{"work", "--exec", "k=" + address}, {"work", "--exec", "k=echo", "--queue", "q=" + address}, {"backup", address},
		{"backup", "a", address}, {"queues", address}, {"queues", "pause", "\n" + address}, {"version", address},
		{"list", "--durability", address}, {"enqueue", "k", "--durability", address}, {"copy", "--from", address},
		{"copy", "--from", "u:secret@h", "--to", address}, {"copy", address}, {"reopen", address},
	} {
		silent(t, strings.Join(args, " "), c.run(args...), exitUsage)
	}
}

// In its own process, because linked packages may write to standard error themselves.
func TestPasswordsAreNotPrintedByAProcess(t *testing.T) {
	for address, code := range secretAddresses() {
		if strings.Contains(address, "\x00") {
			continue // no command line can hold it
		}
		c := &cli{t, address}
		for _, p := range []*process{c.start("list"), c.start("enqueue", "k", "--db", address)} {
			p.wantExit(code)
			silent(t, address, answer{code, p.out.String(), p.errs.String()}, code)
		}
	}
}

// A worker waits for its server, and logs that repeatedly.
func TestPasswordsAreNotLogged(t *testing.T) {
	for _, format := range []string{"text", "json"} {
		c := &cli{t, "postgres://u:secret@" + closedPort + "/n?sslpassword=secret"}
		ctx, stop := context.WithTimeout(t.Context(), hangGuard)
		defer stop()
		var out, errs lockedBuffer
		ended := make(chan int, 1)
		go func() {
			ended <- run(ctx, []string{"work", "--log-level", "debug", "--log-format", format, "--exec", execFlag(t, "k", "echo")},
				strings.NewReader(""), &out, &errs, []string{"SQLUICE_DB=" + c.db})
		}()
		eventually(t, "the worker has tried twice", func() bool { return strings.Count(errs.String(), "trying again") >= 2 })
		stop()
		select {
		case code := <-ended:
			silent(t, "work", answer{code, out.String(), errs.String()}, exitOK)
		case <-time.After(hangGuard):
			t.Fatal("the worker does not stop")
		}
	}
}
