//go:build unix && !linux

package main

import (
	"os/exec"
	"syscall"
)

// isolate puts the program into its own process group, which a terminal's Ctrl-C does not reach. If this process is killed, the
// program continues: this system cannot signal it then.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}
