//go:build unix && !linux

package main

import (
	"os/exec"
	"syscall"
)

// isolate puts the program into a process group of its own, which a terminal's Ctrl-C does not reach. The program
// outlives this process if that is killed: the system has no way to tell it.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}
