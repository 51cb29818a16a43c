//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// programsQueue is the queue of jobs that are programs.
const programsQueue = "programs"

// memoryMost bounds the memory of the worker of programs, whatever they write.
const memoryMost = 512 << 20

// programs lets "sqluice work" run programs that die, take all memory, write without end or ignore the request to end,
// and others beside them.
func (f *fleet) programs(ctx context.Context) error {
	binary, err := buildHere(ctx, f.trial.dir)
	if err != nil {
		return err
	}
	flood := max(16<<20, int64(f.trial.scaled(1<<30)))
	fails := map[string]jobs.Cause{"killed": jobs.CauseError, "hog": jobs.CauseError, "complains": jobs.CauseError, "deaf": jobs.CauseTimeout}
	programs := map[string]string{
		"killed":    `sh -c 'kill -9 $$'`,
		"hog":       `sh -c 'ulimit -v 100000; exec tail /dev/zero'`,
		"complains": fmt.Sprintf(`sh -c 'head -c %d /dev/zero >&2; exit 1'`, flood),
		"deaf":      `sh -c 'trap "" TERM; while :; do sleep 1; done'`,
		"flood":     fmt.Sprintf(`head -c %d /dev/zero`, flood),
		"cat":       `cat`,
	}
	args := []string{"--db", f.address, "work", "--queue", programsQueue, "--concurrency", "8", "--name", fmt.Sprint("programs ", len(f.all))}
	for name, line := range programs {
		args = append(args, "--exec", name+"="+line)
	}
	var bad, good []int64
	for name, cause := range fails {
		options := []jobs.EnqueueOption{jobs.MaxAttempts(1)}
		if cause == jobs.CauseTimeout {
			options = append(options, jobs.Timeout(500*time.Millisecond))
		}
		id, err := f.add(ctx, programsQueue, name, options...)
		if err != nil {
			return err
		}
		bad = append(bad, id)
	}
	flooder, err := f.add(ctx, programsQueue, "flood")
	if err != nil {
		return err
	}
	for range f.trial.scaled(100) {
		id, err := f.add(ctx, programsQueue, "cat")
		if err != nil {
			return err
		}
		good = append(good, id)
	}
	good = append(good, flooder)
	worker := exec.Command(binary, args...)
	said := &buffer{}
	worker.Stdout, worker.Stderr = said, said
	if err := worker.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- worker.Wait() }()
	err = until(ctx, "all programs have ended", func() (bool, error) {
		select {
		case err := <-ended:
			ended <- err
			return false, fmt.Errorf("the worker ended: %w", err)
		default:
		}
		return f.allEnded(ctx, append(bad, good...))
	})
	if err == nil {
		f.checkMemory(worker.Process.Pid)
		err = worker.Process.Signal(syscall.SIGTERM)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("%w\n%s", err, said.last()), worker.Process.Kill(), <-ended)
	}
	if err := <-ended; err != nil {
		f.wrong("the worker of programs does not end well: %v\n%s", err, said.last())
	}
	err = f.each(ctx, bad, func(job jobs.Job, errs []inspect.AttemptEnd) {
		if job.Status != jobs.StatusFailed || job.Crashes != 0 || causes(errs, fails[job.Kind]) != 1 {
			f.wrong("job %d, the program %s, is %s after %d crashes, with the errors %.500v", job.ID, job.Kind, job.Status, job.Crashes, errs)
		}
		f.trial.count(1, len(errs))
	})
	return errors.Join(err, f.each(ctx, good, func(job jobs.Job, _ []inspect.AttemptEnd) {
		if job.Status != jobs.StatusDone {
			f.wrong("job %d, the program %s, is %s: %s", job.ID, job.Kind, job.Status, job.LastError)
		}
		if job.Kind == "cat" && !strings.Contains(string(job.Result), `"cat of programs"`) {
			f.wrong("job %d has the result %.40q", job.ID, job.Result)
		}
		f.uncharged(job)
		f.trial.count(1, 0)
	}))
}

// checkMemory checks the peak memory of a process.
func (f *fleet) checkMemory(pid int) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		f.wrong("%v", err)
		return
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	var kilobytes int64
	if _, err := fmt.Sscan(rest, &kilobytes); err != nil || kilobytes<<10 > memoryMost {
		f.wrong("the worker of programs took %d KiB of memory, %v", kilobytes, err)
	}
}

// buildHere builds the command of this program's tree, once in a folder.
func buildHere(ctx context.Context, dir string) (string, error) {
	root, err := moduleRoot(ctx)
	if err != nil {
		return "", err
	}
	binary := filepath.Join(dir, "sqluice")
	if exists(binary) {
		return binary, nil
	}
	return binary, build(ctx, root, binary)
}

func moduleRoot(ctx context.Context) (string, error) {
	said, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/sqluice/sqluice").Output()
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	return strings.TrimSpace(string(said)), nil
}

func build(ctx context.Context, root, binary string) error {
	return buildPackage(ctx, root, binary, "./cmd/sqluice")
}

// buildPackage builds a command of a source.
func buildPackage(ctx context.Context, root, binary, pkg string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-o", binary, pkg)
	cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", root, err, said)
	}
	return nil
}
