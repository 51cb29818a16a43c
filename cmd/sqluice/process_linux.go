package main

import (
	"os/exec"
	"syscall"
)

// isolate puts the program into its own process group, which a terminal's Ctrl-C does not reach, and makes the kernel kill the
// program when this process is killed.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
