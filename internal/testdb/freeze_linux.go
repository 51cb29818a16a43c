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
)

// Freeze stops all processes of the server, as a debugger or a paused virtual machine does: it answers nothing until thaw, which
// the end of the test calls too.
func (c *Cluster) Freeze(tb testing.TB) (thaw func()) {
	tb.Helper()
	main := c.running.command.Process.Pid
	if err := syscall.Kill(main, syscall.SIGSTOP); err != nil { // first, so that it starts no others
		tb.Fatal(err)
	}
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
	thaw = sync.OnceFunc(func() { signal(syscall.SIGCONT) })
	tb.Cleanup(thaw)
	return thaw
}
