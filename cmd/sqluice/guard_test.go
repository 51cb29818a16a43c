package main

import (
	"slices"
	"strings"
	"testing"
)

func TestGuardKillsWhatWasNotReleased(t *testing.T) {
	for _, test := range []struct {
		changes string
		killed  []int
		fault   bool
	}{
		{changes: ""},
		{changes: "+12\n-12\n"},
		{changes: "+12\n+13\n-12\n+14\n", killed: []int{13, 14}},
		{changes: "+12\n-12\n+12\n", killed: []int{12}},
		{changes: "+12\n+1\n", fault: true}, // the group of no program
		{changes: "+12\n+-5\n", fault: true},
		{changes: "kill all\n", fault: true},
	} {
		var killed []int
		err := guardGroups(strings.NewReader(test.changes), func(pid int) { killed = append(killed, pid) })
		slices.Sort(killed)
		if (err != nil) != test.fault || !slices.Equal(killed, test.killed) {
			t.Errorf("%q: killed %v, %v", test.changes, killed, err)
		}
	}
}
