package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

func TestProgressStaysBelowTheLog(t *testing.T) {
	var b bytes.Buffer
	p := &progress{w: &b, terminal: true, width: func() int { return 11 }}
	p.force("one")
	fmt.Fprintln(p, "log")
	p.force("a \x1b[31m long line")
	p.clear()
	p.clear()
	const erase = "\r\x1b[K"
	want := erase + "one" + erase + "log\n" + erase + "one" + erase + `a \x1b[31…` + erase
	if b.String() != want {
		t.Errorf("wrote %q, want %q", b.String(), want)
	}
}

// A line that is wider than the terminal would wrap, and could not be erased.
func TestProgressIsNoWiderThanTheTerminal(t *testing.T) {
	var b bytes.Buffer
	p := &progress{w: &b, terminal: true, width: func() int { return 11 }}
	p.force(strings.Repeat("漢", 20))
	if want := "\r\x1b[K漢漢漢漢…"; b.String() != want {
		t.Errorf("wrote %q, want %q", b.String(), want)
	}
}

func TestProgressDrawsNothingIntoAPipe(t *testing.T) {
	var b bytes.Buffer
	p := newProgress(&b)
	p.force("one")
	p.show(func() string { t.Error("asked for a line"); return "two" })
	fmt.Fprintln(p, "log")
	p.clear()
	if b.String() != "log\n" {
		t.Errorf("wrote %q", b.String())
	}
}
