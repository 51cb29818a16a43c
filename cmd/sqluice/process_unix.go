//go:build unix

package main

import (
	"os/exec"
	"syscall"
	"time"
)

// groupCheckEvery is the interval at which killRest checks whether a process group is empty: the kernel does not notify.
const groupCheckEvery = 20 * time.Millisecond

// The signals go to the process group of the program. A group that has ended makes the send fail, which is no error here.

func terminate(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
func kill(cmd *exec.Cmd)      { killGroup(cmd.Process.Pid) }

// killGroup kills all processes of a group, which may have ended.
func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }

// setOwnSession makes the command start in a session of its own: signals to this process's group or terminal do not reach it.
func setOwnSession(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// killRest waits until the other processes in the group of an ended program have ended too, and kills them at the deadline.
// The kernel does not reuse the group's number while a process is in it.
func killRest(cmd *exec.Cmd, deadline <-chan time.Time) {
	ticker := time.NewTicker(groupCheckEvery)
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
