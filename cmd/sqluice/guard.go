package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"
)

// guardName is the hidden command that a worker starts for its programs.
const guardName = "guard-programs"

// guard is a process that kills what the programs of a worker have started when the worker is killed. The kernel kills the programs
// themselves, on Linux, and not their children, which would go on beside the job's next attempt. The guard reads a pipe, which the
// worker's death closes, however it dies.
type guard struct {
	log *slog.Logger

	mu   sync.Mutex
	cmd  *exec.Cmd
	pipe io.WriteCloser // nil before the first program, and when there is no guard
	told bool           // the log says that there is none
}

// begin starts the guard's process, if there is none yet, also after it could not be started before. It comes before the first program: a process that is killed while it starts
// another one leaves a child that, for a moment, holds its files open, and with them the lock by which others see that the worker lives.
func (g *guard) begin() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.cmd == nil {
		g.start()
	}
}

// hold makes the guard kill the process group of a program if this process dies, until release is called. begin was called before.
func (g *guard) hold(pid int) (release func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.tell("+", pid)
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.tell("-", pid)
	}
}

// start starts the process. Without it programs run as well. Callers hold mu.
func (g *guard) start() {
	binary, err := os.Executable()
	cmd := exec.Command(binary, guardName)
	apart(cmd)
	var pipe io.WriteCloser
	if err == nil {
		pipe, err = cmd.StdinPipe()
	}
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		g.fails(err)
		return
	}
	g.cmd, g.pipe, g.told = cmd, pipe, false
}

// tell writes to the pipe. Callers hold mu.
func (g *guard) tell(change string, pid int) {
	if g.pipe == nil {
		return
	}
	if _, err := fmt.Fprintf(g.pipe, "%s%d\n", change, pid); err != nil {
		g.fails(err)
	}
}

// fails leaves the programs without a guard. Callers hold mu.
func (g *guard) fails(err error) {
	g.pipe = nil
	if g.told {
		return
	}
	g.told = true
	g.log.Warn("what programs have started would go on if this process was killed: their guard does not run", "error", err)
}

// close ends the process, which kills nothing when all programs have ended.
func (g *guard) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.pipe == nil {
		return
	}
	_ = g.pipe.Close() // by which it ends; it may have ended before
	_ = g.cmd.Wait()
	g.pipe = nil
}

// guardCommand is the process's side.
func (a *app) guardCommand() *cobra.Command {
	return &cobra.Command{
		Use:    guardName,
		Short:  "A process that work has started",
		Hidden: true,
		Args:   takesNothing(),
		RunE: a.do(func(context.Context, []string) error {
			signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP) // it ends with the worker
			return guardGroups(a.stdin, killGroup)
		}),
	}
}

// guardGroups reads the changes of a [guard] until the end, and then kills the process groups that were not released.
func guardGroups(changes io.Reader, kill func(pid int)) error {
	groups := map[int]bool{}
	lines := bufio.NewScanner(changes)
	for lines.Scan() {
		number, begins := strings.CutPrefix(lines.Text(), "+")
		if !begins {
			number = strings.TrimPrefix(number, "-")
		}
		pid, err := strconv.Atoi(number)
		if err != nil || pid <= 1 {
			return fmt.Errorf("%s is for processes that work has started: the line %q is no change", guardName, lines.Text())
		}
		if begins {
			groups[pid] = true
		} else {
			delete(groups, pid)
		}
	}
	for pid := range groups {
		kill(pid)
	}
	return lines.Err()
}
