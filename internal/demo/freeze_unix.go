//go:build unix && !linux

package main

import (
	"os"
	"syscall"
)

// freeze stops a process without its knowledge. It may run on for a moment: the count before the kill is then an estimate.
func freeze(p *os.Process) error { return p.Signal(syscall.SIGSTOP) }

func thaw(p *os.Process) error { return p.Signal(syscall.SIGCONT) }
