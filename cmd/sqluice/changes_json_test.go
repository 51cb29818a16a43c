package main

import (
	"reflect"
	"strings"
	"testing"

	"github.com/sqluice/sqluice/jobs"
)

// Commands that change something print the answer of the API.
func TestChangesInJSON(t *testing.T) {
	c := newCLI(t)
	c.ok("up")
	for _, step := range []struct{ command, want string }{
		{"queues pause q", `{"queue":"q","paused":true,"changed":true}`},
		{"queues pause q", `{"queue":"q","paused":true,"changed":false}`},
		{"queues resume q", `{"queue":"q","paused":false,"changed":true}`},
		{"queues pause q --kind k --for 10m", `{"queue":"q","kind":"k","paused":true,"changed":true}`},
		{"queues resume q --kind k", `{"queue":"q","kind":"k","paused":false,"changed":true}`},
		{"queues resume q --kind k", `{"queue":"q","kind":"k","paused":false,"changed":false}`},
		{"retention set 1h --kind k", `{"changed":true}`},
		{"retention set 1h --kind k", `{"changed":false}`},
		{"retention remove --kind k", `{"changed":true}`},
		{"retention remove --kind k", `{"changed":false}`},
	} {
		var have, want map[string]any
		fromJSON(t, c.ok(append(strings.Fields(step.command), "--json")...), &have)
		fromJSON(t, step.want, &want)
		if !reflect.DeepEqual(have, want) {
			t.Errorf("%s: %v, not %v", step.command, have, want)
		}
	}
}

// update prints the jobs that it has changed, also when there is one that it cannot change.
func TestUpdateInJSON(t *testing.T) {
	c := newCLI(t)
	c.enqueue("k")
	c.enqueue("k")
	var list []jobs.Job
	fromJSON(t, c.ok("update", "1", "2", "--priority", "7", "--json"), &list)
	if len(list) != 2 || list[0].ID != 1 || list[1].ID != 2 || list[0].Priority != 7 || list[1].Priority != 7 {
		t.Errorf("the changed jobs are %+v", list)
	}
	a := c.run("update", "9", "2", "--priority", "8", "--json")
	list = nil
	fromJSON(t, a.out, &list)
	if a.code != exitFailure || len(list) != 1 || list[0].Priority != 8 || !strings.Contains(a.err, "no such job") {
		t.Errorf("exit code %d, the changed jobs are %+v, and %q", a.code, list, a.err)
	}
	a = c.run("update", "9", "--priority", "8", "--json")
	if a.code != exitFailure || strings.TrimSpace(a.out) != "[]" {
		t.Errorf("exit code %d, and %q", a.code, a.out)
	}
}
