package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestUsageFaultsExitWith2AndNameWhatIsWrong(t *testing.T) {
	longName := strings.Repeat("k", 201)
	for _, test := range []struct {
		args  string // split at blanks
		texts []string
	}{
		{"", []string{"a command is missing"}},
		{"nosuch", []string{`unknown command "nosuch"`}},
		{"enqeue", []string{`unknown command "enqeue"`, "did you mean enqueue?"}},
		{"pause default", []string{`unknown command "pause"; did you mean queues pause or schedules pause?`}},
		{"resume default", []string{`unknown command "resume"; did you mean limits resume or queues resume or schedules resume?`}},
		{"puase default", []string{`unknown command "puase"`, "did you mean queues pause or schedules pause?"}},
		{"queues puase default", []string{`unknown command "puase"; did you mean pause?`}},
		{"sensitive marc", []string{`unknown command "marc"; did you mean mark?`}},
		{"deleet", []string{`unknown command "deleet"`}},
		{"help nosuch", []string{`unknown command "nosuch"`}},
		{"list --bogus", []string{"--bogus", "sqluice list --help"}},
		{"list -x", []string{"'x'"}},
		{"list extra", []string{`"extra"`}},
		{"list --status nope", []string{`--status "nope"`, "scheduled, waiting, pending, running, done, failed or cancelled"}},
		{"list --limit 0", []string{`--limit "0"`, "from 1 to 1000"}},
		{"list --limit 1001", []string{`--limit "1001"`, "from 1 to 1000"}},
		{"list --limit many", []string{`--limit "many"`, "from 1 to 1000"}},
		{"list --after -1", []string{`--after "-1"`}},
		{"enqueue", []string{"KIND is missing"}},
		{"enqueue k {} {}", []string{"argument 3 is not expected", "KIND and PAYLOAD"}},
		{"enqueue k --priority", []string{"--priority"}},
		{"enqueue k --priority high", []string{`--priority "high"`, "from -32768 to 32767"}},
		{"enqueue k --priority 32768", []string{`--priority "32768"`, "from -32768 to 32767"}},
		{"enqueue k --priority -32769", []string{`--priority "-32769"`, "from -32768 to 32767"}},
		{"enqueue k --max-attempts -1", []string{`--max-attempts "-1"`, "from 0 to 32767"}},
		{"enqueue k --in -1m", []string{`--in "-1m"`, "not be negative"}},
		{"enqueue k --in 5", []string{`--in "5"`, "10m"}},
		{"enqueue k --in 99999999d", []string{`--in "99999999d"`}},
		{"enqueue k --in 90000000h", []string{`--in "90000000h"`}},
		{"enqueue k --in 1m --at 2100-01-01T00:00:00Z", []string{"--in and --at"}},
		{"enqueue k --at tomorrow", []string{`--at "tomorrow"`, "RFC 3339"}},
		{"enqueue k --at 2001-01-01T00:00:00Z", []string{"--at 2001-01-01T00:00:00Z", "past"}},
		{"enqueue k --start-by soon", []string{`--start-by "soon"`, "10m", "RFC 3339"}},
		{"enqueue k --start-by -1m", []string{`--start-by "-1m"`, "10m"}},
		{"enqueue k --start-by 2001-01-01T00:00:00Z", []string{"--start-by 2001-01-01T00:00:00Z", "future"}},
		{"enqueue k --at 2100-01-01T00:00:00Z --start-by 2100-01-01T00:00:00Z", []string{"--start-by 2100-01-01T00:00:00Z", "after the run-after time"}},
		{"enqueue k --timeout 0s", []string{`--timeout "0s"`, "at least"}},
		{"enqueue k --unique=", []string{"--unique", "empty"}},
		{"enqueue k --tag=", []string{"--tag", "empty"}},
		{"enqueue k --queue=", []string{"--queue", "empty"}},
		{"enqueue k --queue a\x1bb", []string{"--queue", `"a\x1bb"`, "control"}},
		{"enqueue a\x07b", []string{"KIND", `"a\ab"`, "control"}},
		{"enqueue " + longName, []string{"KIND", "200"}},
		{"enqueue k nonsense", []string{"PAYLOAD", "JSON"}},
		{"serve --durability maybe", []string{`--durability "maybe"`, "normal or full"}},
		{"enqueue k --durability maybe", []string{`--durability "maybe"`, "normal or full"}},
		{"enqueue k {} --stdin", []string{"--stdin", "PAYLOAD"}},
		{"enqueue k --stdin --unique x", []string{"--unique", "--stdin"}},
		{"show", []string{"ID is missing"}},
		{"show one", []string{`ID "one"`, "whole number"}},
		{"show 0", []string{`ID "0"`}},
		{"show 1 2", []string{`"2"`}},
		{"wait 1 --timeout never", []string{`--timeout "never"`}},
		{"failed --since yesterday", []string{`--since "yesterday"`}},
		{"retry", []string{"--failed"}},
		{"retry 1 --failed", []string{`"1"`, "--failed"}},
		{"retry 1 --kind k", []string{"--kind", "--failed"}},
		{"cancel", []string{"ID is missing"}},
		{"cancel x", []string{`ID "x"`}},
		{"delete", []string{"IDs", "--status", "--older-than"}},
		{"delete --status done", []string{"--older-than"}},
		{"delete --older-than 1h", []string{"--status"}},
		{"delete 1 --status done --older-than 1h", []string{"IDs", "--status"}},
		{"delete --status pending --older-than 1h", []string{`--status "pending"`, "done, failed or cancelled"}},
		{"prune", []string{"--older-than is missing"}},
		{"prune --older-than -1h", []string{`--older-than "-1h"`}},
		{"prune --older-than 1h --status running", []string{`--status "running"`}},
		{"queues nosuch", []string{`unknown command "nosuch"`}},
		{"queues pause", []string{"NAME is missing"}},
		{"backup", []string{"FILE is missing"}},
		{"backup https://host/file", []string{`FILE "https://..."`, "path"}},
		{"bench x", []string{`"x"`}},
		{"bench --jobs 0", []string{`--jobs "0"`, "from 1 to 10000000"}},
		{"bench --payload 1", []string{`--payload "1"`, "from 40 to 1048576"}},
		{"bench --concurrency 0", []string{`--concurrency "0"`}},
		{"bench --processes 65", []string{`--processes "65"`, "from 1 to 64"}},
		{"bench --durability some", []string{`--durability "some"`}},
		{"bench-process other --concurrency 1", []string{`"other"`, "drain or latency"}},
		{"work", []string{"--exec"}},
		{"work --exec k", []string{`--exec "k"`, "KIND=CMD"}},
		{"work --exec =cat", []string{"KIND=CMD"}},
		{"work --exec k=", []string{"program is missing"}},
		{"work --exec k=no-such-program-anywhere", []string{"--exec", "no-such-program-anywhere"}},
		{"work --exec k='go", []string{"--exec", "not closed"}},
		{"work --exec k=go --exec k=go", []string{"--exec", `"k"`, "once"}},
		{"work --exec k=go --queue a=0", []string{`--queue "a=0"`, "from 1 to 10000"}},
		{"work --exec k=go --queue a --queue a=2", []string{"--queue", "once"}},
		{"work --exec k=go --concurrency 0", []string{`--concurrency "0"`}},
		{"work --exec k=go --lease 0", []string{`--lease "0"`, "1s"}},
		{"work --exec k=go --lease 25h", []string{`--lease "25h"`, "24h"}},
		{"work --exec k=go --grace -1s", []string{`--grace "-1s"`}},
		{"work --exec k=go --on-boot ask", []string{`--on-boot "ask"`, "pending or failed"}},
		{"work --exec k=go --log-format xml", []string{`--log-format "xml"`, "text or json"}},
		{"work --exec k=go --name=", []string{"--name", "empty"}},
		{"work --exec k=go --name a\x01b", []string{"--name", "control"}},
		{"work --exec k=go --queue a\x01b", []string{"--queue", "control"}},
		{"--db postgres://host:port/db list", []string{`--db "postgres://..."`, "URL"}},
		{"--db mysql://host/db list", []string{`--db "mysql://..."`, "sqlite:PATH", "postgres://"}},
		{"-db=jobs.db list", []string{"'d' in -db=jobs.db", "begins with --"}},
		{"--db :memory: list", []string{`--db ":memory:"`}},
		{"--db= list", []string{`--db ""`}},
		{"--keys= enqueue k", []string{`--keys "" must not be empty`}},
		{"serve --token-file=", []string{`--token-file "" must not be empty`}},
		{"serve --probes=", []string{`--probes "" must not be empty`}},
		{"serve --addr=", []string{`--addr "" must not be empty`}},
		{"work --exec k=go --metrics=", []string{`--metrics "" must not be empty`}},
		{"work --exec k=go --metrics 127.0.0.1:0 --token-file=", []string{`--token-file "" must not be empty`}},
		{"work --post k=http://localhost --post-secret-file=", []string{`--post-secret-file "" must not be empty`}},
		{"list --user-id=", []string{`--user-id "" must not be empty`}},
		{"audit --action bogus", []string{`--action "bogus"`, "delete", "or delete schedule"}},
		{"audit --actor=", []string{`--actor "" must not be empty`}},
		{"retention set 1h --kind=", []string{`--kind "" must not be empty`}},
		{"retention set 1h --queue=", []string{`--queue "" must not be empty`}},
		{"retention remove --kind=", []string{`--kind "" must not be empty`}},
		{"enqueue k --tag " + strings.Repeat("t", 300), []string{"--tag", "200"}},
		{"enqueue k --stdin --tag " + strings.Repeat("t", 300), []string{"--tag", "200"}},
		{"schedules put s --cron @daily --kind k --catch-up bogus", []string{`--catch-up "bogus"`, "latest"}},
		{"schedules put s --cron @daily --kind k --tag " + strings.Repeat("t", 300), []string{"--tag", "200"}},
		{"work --exec k=go --metrics 0.0.0.0:0", []string{`--metrics "0.0.0.0:0"`, "loopback"}},
		{"work --exec k=go --metrics :0", []string{`--metrics ":0"`, "loopback"}},
		{"work --exec k=go --metrics 127.0.0.1:0 --host a:1", []string{"--host", `"a:1"`}},
		{"work --exec k=go --metrics 9090", []string{`--metrics "9090"`, "HOST:PORT"}},
		{"work --exec k=go --probes 9090", []string{`--probes "9090"`, "HOST:PORT"}},
		{"serve --addr 8080", []string{`--addr "8080"`, "HOST:PORT"}},
		{"serve --addr 127.0.0.1:99999", []string{`--addr "127.0.0.1:99999"`, "HOST:PORT"}},
		{"serve --addr [::]:0", []string{`--addr "[::]:0"`, "loopback"}},
		{"serve --host a:1", []string{"--host", `"a:1"`}},
		{"serve --origin nonsense", []string{"--origin", `"nonsense"`}},
		{"serve --probes 9090", []string{`--probes "9090"`, "HOST:PORT"}},
		{"completion bogus", []string{`unknown command "bogus"`}},
	} {
		t.Run(test.args, func(t *testing.T) {
			c := newCLI(t)
			c.fails(exitUsage, append(test.texts, "--help"), strings.Fields(test.args)...)
			if exists(c.db) {
				t.Error("a database was made")
			}
		})
	}
}

// A person who mistypes a command may take the suggestion without a second look.
func TestNoSuggestionNamesACommandThatRemoves(t *testing.T) {
	root := (&app{}).rootCommand()
	if got := suggestions(root, "prun"); slices.Contains(got, "prune") {
		t.Errorf("prun suggests %q", got)
	}
	for _, command := range append(root.Commands(), find(t, root, "queues"), find(t, root, "schedules"), find(t, root, "sensitive")) {
		for _, of := range append(command.Commands(), command) {
			for i := range of.Name() {
				name := of.Name()[:i] + of.Name()[i+1:]
				for _, from := range []*cobra.Command{root, find(t, root, "queues"), find(t, root, "schedules"), find(t, root, "sensitive")} {
					for _, suggested := range suggestions(from, name) {
						words := strings.Fields(suggested)
						if last := words[len(words)-1]; slices.Contains([]string{"delete", "prune", "down", "restore", "unmark"}, last) {
							t.Errorf("%s %s suggests %s", from.Name(), name, suggested)
						}
					}
				}
			}
		}
	}
}

func find(t *testing.T, root *cobra.Command, name string) *cobra.Command {
	t.Helper()
	cmd, _, err := root.Find([]string{name})
	if err != nil {
		t.Fatal(err)
	}
	return cmd
}

func TestTheEnvironmentNamesTheDatabase(t *testing.T) {
	c := newCLI(t)
	c.db = "sqlite:" + c.db
	c.ok("up")
	c.db = "postgres://host:port/db"
	c.fails(exitUsage, []string{`SQLUICE_DB "postgres://..."`}, "list")
}

func TestHelpIsNoError(t *testing.T) {
	c := newCLI(t)
	for _, args := range [][]string{{"help"}, {"--help"}, {"help", "work"}, {"work", "--help"}, {"queues", "pause", "--help"}} {
		if out := c.ok(args...); !strings.Contains(out, "Usage:") {
			t.Errorf("sqluice %q prints no help:\n%s", args, out)
		}
	}
}

// The word list after a command that lists something changes nothing.
func TestListAfterAGroup(t *testing.T) {
	c := newCLI(t)
	c.ok("up")
	c.ok("schedules", "put", "nightly", "--cron", "@daily", "--kind", "mail")
	c.ok("sensitive", "mark", "mail", "card")
	c.ok("retention", "set", "1h", "--kind", "mail")
	c.ok("queues", "pause", "q")
	for _, group := range []string{"queues", "schedules", "retention", "sensitive"} {
		bare := c.ok(group, "--json")
		if out := c.ok(group, "list", "--json"); out != bare || len(out) < 10 {
			t.Errorf("%s prints %q, and with list %q", group, bare, out)
		}
		c.fails(exitUsage, []string{`unknown command "list"`}, group, "list", "more")
	}
}

// A payload may hold a secret: no fault of the command line shows any of it, as when a shell has split it.
func TestUsageFaultsShowNoPayload(t *testing.T) {
	c := newCLI(t)
	const secret = "4111222233334444"
	for _, args := range [][]string{
		{"enqueue", "k", "{}", secret}, {"enqueue", "k", `{"card":`, secret + "}"}, {"enqueue", "--items", secret}, {"enqueue", "k", "--stdin", secret},
		{"enqueue", "k", "-" + secret}, {"enqueue", "k", "{" + secret}, {"enqueue", "k", `"` + secret + `\x"`},
		{"schedules", "put", "s", "k", secret}, {"schedules", "put", "s", "--every", "1m", "--kind", "k", "{", secret},
		{"schedules", "put", "s", "--every", "1m", "--kind", "k", secret + "{"}, {"schedules", "put", "s", "--every", "1m", "--kind", "k", "-" + secret},
		{"update", "1", "--payload", "{" + secret},
	} {
		if a := c.run(args...); a.code != exitUsage || strings.Contains(a.out+a.err, secret[:6]) || a.err == "" {
			t.Errorf("%q: %+v", args, a)
		}
	}
}
