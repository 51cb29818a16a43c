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

// guard controls a process that kills the children of a worker's programs if the worker is killed. On Linux the kernel kills the programs,
// but not their children, which would run beside the next attempt of the job. The process reads a pipe, which any death of the worker
// closes.
type guard struct {
	log *slog.Logger

	mu        sync.Mutex
	cmd       *exec.Cmd
	pipe      io.WriteCloser // nil before the first program, and if the process could not be started
	hasWarned bool           // the log has the failure
}

// startOnce starts the process unless it runs. It tries again after a failed start. The caller calls it before the first program: a worker that is killed
// while it starts a process leaves a child that for a moment holds the worker's files open, and so the lock that marks a live worker.
func (g *guard) startOnce() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.cmd == nil {
		g.start()
	}
}

// addGroup makes the process kill the group of a program if this process dies, until release is called. The caller has called startOnce.
func (g *guard) addGroup(pid int) (release func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.writeChange("+", pid)
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.writeChange("-", pid)
	}
}

// start starts the process. Programs also run if it fails. The caller holds mu.
func (g *guard) start() {
	binary, err := os.Executable()
	cmd := exec.Command(binary, guardName)
	setOwnSession(cmd)
	var pipe io.WriteCloser
	if err == nil {
		pipe, err = cmd.StdinPipe()
	}
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		g.disable(err)
		return
	}
	g.cmd, g.pipe, g.hasWarned = cmd, pipe, false
}

// writeChange writes a change to the pipe. The caller holds mu.
func (g *guard) writeChange(change string, pid int) {
	if g.pipe == nil {
		return
	}
	if _, err := fmt.Fprintf(g.pipe, "%s%d\n", change, pid); err != nil {
		g.disable(err)
	}
}

// disable drops the pipe, so that programs run without a guard, and logs the first error. The caller holds mu.
func (g *guard) disable(err error) {
	g.pipe = nil
	if g.hasWarned {
		return
	}
	g.hasWarned = true
	g.log.Warn("cannot run the guard of programs: processes that a program starts continue if this worker is killed", "error", err)
}

// close ends the process, which kills no group if all programs have ended.
func (g *guard) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.pipe == nil {
		return
	}
	_ = g.pipe.Close() // ends the process, which may have ended before
	_ = g.cmd.Wait()
	g.pipe = nil
}

// guardCommand returns the hidden command that the process runs.
func (a *app) guardCommand() *cobra.Command {
	return &cobra.Command{
		Use:    guardName,
		Short:  "A process that work has started",
		Hidden: true,
		Args:   noArgs(),
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
			return fmt.Errorf("%s: line %q must be + or - and a process id, as `sqluice work` writes it", guardName, lines.Text())
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
