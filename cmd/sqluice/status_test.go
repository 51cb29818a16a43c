package main

import (
	"strings"
	"testing"
)

func TestWALSize(t *testing.T) {
	if text := walSize(3 << 19); text != "1.5 MiB" {
		t.Errorf("a WAL is shown as %q", text)
	}
	if text := walSize(200 << 20); !strings.HasPrefix(text, "200.0 MiB: a long read transaction") {
		t.Errorf("a large WAL is shown as %q", text)
	}
}
