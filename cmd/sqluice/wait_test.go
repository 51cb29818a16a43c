package main

import (
	"net"
	"strings"
	"testing"
)

// TestWaitForAServerThatDoesNotAnswer checks that the timeout of a connection is not that of the wait.
func TestWaitForAServerThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0") // the system accepts, and nothing answers
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	c := &cli{t, "postgres://user@" + listener.Addr().String() + "/name?connect_timeout=1&sslmode=disable"}
	for _, args := range [][]string{{"wait", "1"}, {"wait", "1", "--timeout", "1h"}} {
		a := c.run(args...)
		if a.code != exitFailure || strings.Contains(a.err, "has not ended") || !strings.Contains(a.err, "cannot be reached") {
			t.Errorf("sqluice %q: exit code %d: %s", args, a.code, a.err)
		}
	}
	c.fails(exitFailure, []string{"job 1 has not ended after 10ms", "its status cannot be read: "}, "wait", "1", "--timeout", "10ms")
}
