//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
)

// stopped reports whether a child was stopped by a signal. Waiting for the signal would take the child's end from the
// goroutine that waits for that.
func stopped(pid int) (bool, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false, err
	}
	_, rest, found := bytes.Cut(stat, []byte(") "))
	if !found || len(rest) == 0 {
		return false, fmt.Errorf("process %d has the state %q", pid, stat)
	}
	return rest[0] == 'T', nil
}
