package testdb

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Freeze stops all processes of the server, as a debugger or a paused virtual machine does: it answers nothing until thaw, which
// the end of the test calls too.
func (c *Cluster) Freeze(tb testing.TB) (thaw func()) {
	tb.Helper()
	main := c.running.command.Process.Pid
	if err := syscall.Kill(main, syscall.SIGSTOP); err != nil { // first, so that it starts no others
		tb.Fatal(err)
	}
	awaitStop(tb, main)
	all := []int{main}
	list, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", main, main))
	if err != nil {
		tb.Fatal(err)
	}
	for _, text := range strings.Fields(string(list)) {
		pid, err := strconv.Atoi(text)
		if err != nil {
			tb.Fatal(err)
		}
		all = append(all, pid)
	}
	signal := func(s syscall.Signal) {
		for _, pid := range all {
			if err := syscall.Kill(pid, s); err != nil && !errors.Is(err, syscall.ESRCH) {
				tb.Errorf("signal %d to process %d of the server: %v", s, pid, err)
			}
		}
	}
	signal(syscall.SIGSTOP)
	for _, pid := range all {
		awaitStop(tb, pid)
	}
	thaw = sync.OnceFunc(func() { signal(syscall.SIGCONT) })
	tb.Cleanup(thaw)
	return thaw
}

// awaitStop waits until a process that got SIGSTOP runs no more: on another CPU it may go on for a while.
func awaitStop(tb testing.TB, pid int) {
	tb.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			return
		}
		if err != nil {
			tb.Fatal(err)
		}
		// The name, in parentheses, may have some itself; the state is the letter after the last.
		if _, state, _ := strings.Cut(string(stat[strings.LastIndexByte(string(stat), ')')+1:]), " "); state != "" && strings.Contains("TZX", state[:1]) {
			return
		}
		if time.Now().After(end) {
			tb.Fatalf("process %d does not stop: %s", pid, stat)
		}
	}
}
