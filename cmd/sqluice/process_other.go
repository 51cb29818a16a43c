//go:build !unix

package main

import (
	"os"
	"os/exec"
	"time"
)

// This system has neither process groups nor a signal that asks a program to end: only the program itself is killed.

func isolate(*exec.Cmd) {}

func terminate(cmd *exec.Cmd) { kill(cmd) }

func kill(cmd *exec.Cmd) { _ = cmd.Process.Kill() } // fails if it has ended

// killGroup kills the process of this number.
func killGroup(pid int) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill() // fails if it has ended
	}
}

func setOwnSession(*exec.Cmd) {}

func killRest(*exec.Cmd, <-chan time.Time) {}
