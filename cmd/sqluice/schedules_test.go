package main

import (
	"encoding/json"
	"os"
	"slices"
	"testing"
	"time"
)

func TestSchedulesNext(t *testing.T) {
	c := newCLI(t)
	for _, test := range []struct {
		want string
		args []string
	}{
		{"2026-03-28T02:30:00+01:00\n2026-03-29T03:00:00+02:00  moved: the clock is set forward past its time\n",
			[]string{"30 2 * * *", "--zone", "Europe/Berlin", "-n", "2", "--from", "2026-03-28T00:00:00Z"}},
		{"2026-10-25T02:30:00+02:00  the first of two: the clock is set back\n2026-10-26T02:30:00+01:00\n",
			[]string{"30 2 * * *", "--zone", "Europe/Berlin", "-n", "2", "--from", "2026-10-24T12:00:00Z"}},
		{"2026-10-25T02:30:00+02:00\n2026-10-25T02:30:00+01:00\n",
			[]string{"30 */2 * * *", "--zone", "Europe/Berlin", "-n", "2", "--from", "2026-10-25T00:00:00Z"}},
		{"2026-01-01T00:00:05Z\n", []string{"5 0 0 * * *", "-n", "1", "--from", "2026-01-01T00:00:00Z"}},
		{"2026-01-01T00:01:30Z\n", []string{"--every", "90s", "-n", "1", "--from", "2026-01-01T00:00:00Z"}},
	} {
		if have := c.ok(append([]string{"schedules", "next"}, test.args...)...); have != test.want {
			t.Errorf("%q prints\n%s, not\n%s", test.args, have, test.want)
		}
	}
	var list []string
	if err := json.Unmarshal([]byte(c.ok("schedules", "next", "@daily", "--from", "2026-01-01T00:00:00Z", "--json")), &list); err != nil {
		t.Fatal(err)
	}
	if len(list) != 5 || list[4] != "2026-01-06T00:00:00Z" || !slices.IsSorted(list) {
		t.Errorf("the list is %q", list)
	}
	if first := c.ok("schedules", "next", "* * * * *", "-n", "1"); len(first) != len(time.RFC3339)-5+1 {
		t.Errorf("from now on it is due at %q", first)
	}
	if _, err := os.Stat(c.db); !os.IsNotExist(err) {
		t.Errorf("the command has made a database: %v", err)
	}
	for _, test := range []struct {
		code int
		text string
		args []string
	}{
		{exitUsage, "must be from 0 to 59", []string{"61 2 * * *"}},
		{exitUsage, "IANA name", []string{"@daily", "--zone", "Mars/Olympus"}},
		{exitUsage, "IANA name", []string{"@daily", "--zone", "Local"}},
		{exitUsage, "--count must be from 1", []string{"@daily", "-n", "0"}},
		{exitUsage, "either SPEC or --every", []string{"@daily", "--every", "1m"}},
		{exitUsage, "give a SPEC", nil},
		{exitUsage, "whole seconds", []string{"--every", "1500ms"}},
		{exitFailure, "not due within forty years", []string{"*/5 2 * 3 sunL", "--zone", "Europe/Berlin"}},
	} {
		c.fails(test.code, []string{test.text}, append([]string{"schedules", "next"}, test.args...)...)
	}
}
