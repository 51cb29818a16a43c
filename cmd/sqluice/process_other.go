//go:build !unix

package main

import (
	"os/exec"
	"time"
)

// The system has neither process groups nor a signal that asks a program to end: it is killed by itself.

func isolate(*exec.Cmd) {}

func terminate(cmd *exec.Cmd) { kill(cmd) }

func kill(cmd *exec.Cmd) { _ = cmd.Process.Kill() } // it may have ended, which is what this is for

func killRest(*exec.Cmd, <-chan time.Time) {}
