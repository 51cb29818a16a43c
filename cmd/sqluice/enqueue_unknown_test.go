package main

import (
	"strings"
	"testing"
)

// A command that writes a name which nothing knows succeeds, and standard error says so, with the nearest name.
func TestUnknownNames(t *testing.T) {
	c := newCLI(t)
	first := c.run("enqueue", "mail", "--queue", "letters")
	if first.code != exitOK || first.err != "" {
		t.Fatalf("the first enqueue: %+v", first)
	}
	const item = `{"kind":"mail","queue":"letters"}` + "\n"
	for _, test := range []struct {
		args  []string
		stdin string
		want  string
	}{
		{[]string{"queues", "pause", "leters"}, "", `the queue "leters": no job, worker, schedule, pause or rule has this name; did you mean "letters"?`},
		{[]string{"queues", "pause", "letters", "--kind", "mial"}, "", `the kind "mial"`},
		{[]string{"queues", "resume", "lettres"}, "", `did you mean "letters"?`},
		{[]string{"schedules", "put", "s", "--every", "1h", "--kind", "nosuchkind"}, "", `the kind "nosuchkind": no job, worker, schedule, pause or rule has this name` + "\n"},
		{[]string{"retention", "set", "30d", "--kind", "mails"}, "", `did you mean "mail"?`},
		{[]string{"sensitive", "mark", "maill", "*"}, "", `did you mean "mail"?`},
		{[]string{"enqueue", "amil"}, "", `did you mean "mail"?`},
		{[]string{"enqueue", "mail", "--queue", "letterz", "--stdin"}, "1\n2\n", `did you mean "letters"?`},
		{[]string{"enqueue", "--items"}, item + strings.ReplaceAll(item, "mail", "mile") + item, `the kind "mile"`},
		{[]string{"list", "--kind", "maik"}, "", `did you mean "mail"?`},
		{[]string{"failed", "--kind", "mailx"}, "", `did you mean "mail`},
		{[]string{"retry", "--failed", "--kind", "mayl"}, "", `did you mean "mail"?`},
	} {
		a := c.runWith(strings.NewReader(test.stdin), test.args...)
		if a.code != exitOK || strings.Count(a.err, "nothing knows") != 1 || !strings.Contains(a.err, test.want) {
			t.Errorf("%v: %+v", test.args, a)
		}
	}
	for _, args := range [][]string{
		{"queues", "pause", "letters"}, {"queues", "resume", "letters", "--kind", "mail"}, {"enqueue", "mail", "--queue", "letters"},
		{"enqueue", "mail"}, {"list", "--kind", "mail"}, {"queues", "pause", "leters"}, {"schedules", "put", "t", "--every", "1h", "--kind", "nosuchkind"},
	} {
		if a := c.run(args...); a.code != exitOK || a.err != "" {
			t.Errorf("%v, whose names are known: %+v", args, a)
		}
	}
	c.fails(exitUsage, []string{"NAME", "control"}, "queues", "pause", "a\x1bb")
}
