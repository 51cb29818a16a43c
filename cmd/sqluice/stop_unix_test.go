//go:build unix

package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

func stopTests() tests {
	return tests{
		"ATimeoutEndsTheWholeProcessGroup":            aTimeoutEndsTheWholeProcessGroup,
		"CancelEndsTheProgram":                        cancelEndsTheProgram,
		"AStopGivesTheJobBackWithoutCostingAnAttempt": aStopGivesTheJobBackWithoutCostingAnAttempt,
		"ALaterInterruptEndsTheWorkerAtOnce":          aLaterInterruptEndsTheWorkerAtOnce,
		"WhatAProgramStartedDiesWithItsWorker":        whatAProgramStartedDiesWithItsWorker,
		"AnotherWorkerPicksUpWhatAKilledOneRan":       anotherWorkerPicksUpWhatAKilledOneRan,
		"OnBootFailedKeepsCrashedJobsForPeople":       onBootFailedKeepsCrashedJobsForPeople,
		"AWorkersNameIsTakenWhileItLives":             aWorkersNameIsTakenWhileItLives,
	}
}

// gone reports whether the process whose id a file holds has ended, also if its parent has not waited for it yet.
func gone(t *testing.T, pidFile string) bool {
	t.Helper()
	text, err := os.ReadFile(pidFile)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(string(text))
	if err != nil {
		t.Fatal(err)
	}
	if syscall.Kill(pid, 0) != nil {
		return true
	}
	// Systems without /proc wait for orphans by themselves.
	stat, err := os.ReadFile(filepath.Join("/proc", string(text), "stat"))
	return err == nil && strings.Contains(string(stat), ") Z ")
}

func aTimeoutEndsTheWholeProcessGroup(t *testing.T, c *cli) {
	dir := t.TempDir()
	pidFiles := []string{filepath.Join(dir, "stubborn"), filepath.Join(dir, "stubborn-child")}
	// On a busy machine the timeout may be over before both processes run.
	for timeout := time.Second; !exists(pidFiles[0]) || !exists(pidFiles[1]); timeout *= 2 {
		if timeout > hangGuard {
			t.Fatal("the program does not come to run")
		}
		id := c.enqueue("k", "--timeout", timeout.String(), "--max-attempts", "1")
		c.drain(execFlag(t, "k", "stubborn", dir))
		job := c.show(id)
		if job.Status != jobs.StatusFailed || len(job.Errors) != 1 || job.Errors[0].Cause != jobs.CauseTimeout || !strings.Contains(job.LastError, "timeout") {
			t.Fatalf("the job is %+v", job)
		}
	}
	for _, path := range pidFiles {
		eventually(t, path+" is gone", func() bool { return gone(t, path) })
	}
}

func cancelEndsTheProgram(t *testing.T, c *cli) {
	dir := t.TempDir()
	id := c.enqueue("k")
	worker := c.start("work", "--drain", "--exec", execFlag(t, "k", "hang", dir))
	pidFile := hanging(t, dir, id)
	if out := c.ok("cancel", id); !strings.Contains(out, "running") {
		t.Errorf("cancel prints %q", out)
	}
	c.fails(exitFailure, []string{"job " + id + " was cancelled"}, "wait", id)
	if !gone(t, pidFile) {
		t.Error("the program still runs")
	}
	worker.wantExit(exitOK)
}

func aStopGivesTheJobBackWithoutCostingAnAttempt(t *testing.T, c *cli) {
	dir := t.TempDir()
	id := c.enqueue("k", "--max-attempts", "1")
	worker := c.start("work", "--grace", "0s", "--exec", execFlag(t, "k", "hang", dir))
	pidFile := hanging(t, dir, id)
	worker.signal(syscall.SIGTERM)
	worker.wantExit(exitOK)
	job := c.show(id)
	if job.Status != jobs.StatusPending || job.Attempt != 1 || job.Uncounted != 1 || len(job.Errors) != 0 {
		t.Errorf("after the stop the job is %+v", job)
	}
	if !gone(t, pidFile) {
		t.Error("the program still runs")
	}
	if workers := get[[]inspect.WorkerInfo](c, "workers"); len(workers) != 0 {
		t.Errorf("the workers are %+v", workers)
	}
	c.drain(execFlag(t, "k", "hang", dir)) // it hangs at the first attempt only
	if job := c.show(id); job.Status != jobs.StatusDone || job.Attempt != 2 {
		t.Errorf("at the end the job is %+v", job)
	}
}

func aLaterInterruptEndsTheWorkerAtOnce(t *testing.T, c *cli) {
	dir := t.TempDir()
	id := c.enqueue("k")
	worker := c.start("work", "--grace", "24h", "--exec", execFlag(t, "k", "hang", dir))
	hanging(t, dir, id)
	worker.signal(syscall.SIGTERM)
	worker.signal(syscall.SIGTERM) // the same stop again, as a parent sends it that forwards it
	// Sent until it counts as another signal, which it does after a second.
	ended := make(chan struct{})
	go func() {
		_ = worker.waited() // wantExit below judges it
		close(ended)
	}()
	eventually(t, "the worker has ended", func() bool {
		select {
		case <-ended:
			return true
		default:
			_ = worker.cmd.Process.Signal(syscall.SIGINT) // fails when it has just ended
			return false
		}
	})
	worker.wantExit(exitFailure)
	if !strings.Contains(worker.errs.String(), "again") {
		t.Errorf("standard error is %q", worker.errs.String())
	}
	if job := c.show(id); job.Status != jobs.StatusRunning {
		t.Errorf("the job is %s: the worker had time to give it back", job.Status)
	}
}

func anotherWorkerPicksUpWhatAKilledOneRan(t *testing.T, c *cli) {
	dir := t.TempDir()
	id := c.enqueue("k")
	flag := execFlag(t, "k", "hang", dir)
	first := c.start("work", "--name", "first", "--exec", flag)
	pidFile := hanging(t, dir, id)
	second := c.start("work", "--name", "second", "--exec", flag)
	eventually(t, "both workers are listed", func() bool { return len(get[[]inspect.WorkerInfo](c, "workers")) == 2 })
	if out := c.ok("workers"); !strings.Contains(out, "first") || !strings.Contains(out, "second") || !strings.Contains(out, "default=10") {
		t.Errorf("the workers are\n%s", out)
	}
	first.signal(syscall.SIGKILL)
	if out := c.ok("wait", id); out != "done\n" {
		t.Errorf("wait prints %q", out)
	}
	job := c.show(id)
	if job.Attempt != 2 || job.Crashes != 1 || len(job.Errors) != 1 || job.Errors[0].Cause != jobs.CauseCrash || job.Errors[0].Worker != "first" {
		t.Errorf("the job is %+v", job)
	}
	if runtime.GOOS == "linux" {
		eventually(t, "the killed worker's program is gone", func() bool { return gone(t, pidFile) })
	}
	second.signal(syscall.SIGTERM)
	second.wantExit(exitOK)
}

// The kernel kills the shell, on Linux, and not the program that it runs.
func whatAProgramStartedDiesWithItsWorker(t *testing.T, c *cli) {
	dir := t.TempDir()
	id := c.enqueue("k")
	_, program, _ := strings.Cut(execFlag(t, "k", "hang", dir), "=")
	worker := c.start("work", "--exec", `k=sh -c "`+program+`; true"`)
	pidFile := hanging(t, dir, id)
	worker.signal(syscall.SIGKILL)
	worker.wantExit(-1) // by a signal
	eventually(t, "what the killed worker's program started is gone", func() bool { return gone(t, pidFile) })
}

func onBootFailedKeepsCrashedJobsForPeople(t *testing.T, c *cli) {
	dir := t.TempDir()
	id := c.enqueue("k")
	worker := c.start("work", "--exec", execFlag(t, "k", "hang", dir))
	hanging(t, dir, id)
	worker.signal(syscall.SIGKILL)
	worker.wantExit(-1) // by a signal
	if a := c.run("work", "--drain", "--on-boot", "failed", "--exec", execFlag(t, "k", "hang", dir)); a.code != exitOK {
		t.Fatalf("%+v", a)
	}
	if job := c.show(id); job.Status != jobs.StatusFailed || job.Crashes != 1 {
		t.Errorf("the job is %+v", job)
	}
}

func aWorkersNameIsTakenWhileItLives(t *testing.T, c *cli) {
	c.ok("up")
	flag := execFlag(t, "k", "echo")
	first := c.start("work", "--name", "w", "--exec", flag)
	eventually(t, "the worker is listed", func() bool { return len(get[[]inspect.WorkerInfo](c, "workers")) == 1 })
	c.fails(exitFailure, []string{`"w"`, "live worker", "--name"}, "work", "--drain", "--name", "w", "--exec", flag)
	first.signal(syscall.SIGKILL)
	first.wantExit(-1)
	c.ok("work", "--drain", "--name", "w", "--exec", flag)
}
