package main

import (
	"os/exec"
	"syscall"
)

// isolate puts the program into a process group of its own, which a terminal's Ctrl-C does not reach, and has the
// kernel kill the program when this process is killed: nobody else would then know of it.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
