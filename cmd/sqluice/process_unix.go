//go:build unix

package main

import (
	"os/exec"
	"syscall"
	"time"
)

// groupLook is how often killRest looks whether a process group is empty: the kernel does not tell.
const groupLook = 20 * time.Millisecond

// The signals below go to the program's process group. They may find it gone, which is what they are for.

func terminate(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
func kill(cmd *exec.Cmd)      { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// killRest waits until the rest of the group of a program that has ended is gone too, and kills it at the deadline.
// The group's number is not given to another one as long as a process is in it.
func killRest(cmd *exec.Cmd, deadline <-chan time.Time) {
	ticker := time.NewTicker(groupLook)
	defer ticker.Stop()
	for syscall.Kill(-cmd.Process.Pid, 0) == nil {
		select {
		case <-deadline:
			kill(cmd)
			return
		case <-ticker.C:
		}
	}
}
