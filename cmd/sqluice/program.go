package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

const (
	// exitDiscard is the exit code by which a program discards its job: EX_DATAERR of sysexits.h.
	exitDiscard = 65

	// killAfter is the time between SIGTERM and SIGKILL for a program.
	killAfter = 3 * time.Second
)

// program is a handler that runs a program with its arguments once for each attempt.
type program struct {
	kind string
	path string // the file that was found in PATH at the start
	args []string

	env     []string
	starter *starter
	log     *slog.Logger
}

// parseExec reads the value of --exec, KIND=CMD ARG..., and finds the program. The error is a phrase that follows
// "must".
func parseExec(text string) (*program, error) {
	kind, line, err := cutKind(text, "KIND=CMD ARG")
	if err != nil {
		return nil, err
	}
	words, err := splitWords(line)
	if err != nil {
		return nil, fmt.Errorf("have the form KIND=CMD ARG: %w", err)
	}
	if len(words) == 0 || words[0] == "" {
		return nil, errors.New("have the form KIND=CMD ARG: the program is missing")
	}
	path, err := exec.LookPath(words[0])
	if err != nil {
		return nil, fmt.Errorf("name a program that can be run: %s: %w", shown(words[0]), reason(err))
	}
	return &program{kind: kind, path: path, args: words[1:]}, nil
}

// cutKind divides KIND=REST. The error is a phrase that follows "must" and has no part of the rest.
func cutKind(text, form string) (kind, rest string, err error) {
	kind, rest, ok := strings.Cut(text, "=")
	if !ok || kind == "" {
		return "", "", fmt.Errorf("have the form %s", form)
	}
	var invalid *jobs.InvalidError
	if err := jobs.ValidateName("kind", kind); errors.As(err, &invalid) {
		return "", "", fmt.Errorf("name a kind, which must %s", invalid.Must)
	}
	return kind, rest, nil
}

// reason returns the cause of an error without the file's name, which the error's text may have twice.
func reason(err error) error {
	var lookup *exec.Error
	if errors.As(err, &lookup) {
		err = lookup.Err
	}
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return err
}

// handle runs the program with the payload on its standard input; its exit code decides the job's outcome. When ctx ends first,
// handle sends SIGTERM to the program's process group, and later SIGKILL.
func (p *program) handle(ctx context.Context, job jobs.Job, payload json.RawMessage) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	stdout, stderr := &head{limit: resultLimit}, &tail{limit: errorLimit}
	cmd := exec.Command(p.path, p.args...)
	// os/exec ignores the error if the program ends without reading all of it.
	cmd.Stdin = strings.NewReader(string(payload))
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.Env = append(p.env[:len(p.env):len(p.env)], jobVariables(job)...)
	// A process that the program left behind may keep the output open. Wait does not wait for it any longer than this.
	cmd.WaitDelay = killAfter
	ended, err := p.starter.start(cmd)
	if err != nil {
		// The worker is at fault: neither the path nor the arguments depend on the job.
		return jobs.Unable(fmt.Errorf("start %s: %w", p.path, err))
	}
	err = waitOrStop(ctx, cmd)
	ended()
	if stdout.dropped() > 0 {
		p.log.Warn("the program's output is longer than a result: the rest is dropped", "job", job.ID, "kind", job.Kind,
			"kept", resultLimit, "dropped", stdout.dropped())
	}
	return p.outcome(ctx, job, err, stdout, stderr)
}

// outcome returns the handler's error for how the program ended.
func (p *program) outcome(ctx context.Context, job jobs.Job, err error, stdout *head, stderr *tail) error {
	var exit *exec.ExitError
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay): // it succeeded, although another process keeps its output open
		return setResult(job, stdout)
	case errors.As(err, &exit) && exit.ExitCode() == exitDiscard:
		return jobs.Discard(stderr.failure(err))
	case ctx.Err() != nil:
		return fmt.Errorf("%w: %w", context.Cause(ctx), stderr.failure(err))
	default:
		return stderr.failure(err)
	}
}

// jobVariables returns the variables that describe the job. SQLUICE_MAX_ATTEMPTS includes the attempts that do not count, so
// that it equals SQLUICE_ATTEMPT in the last attempt.
func jobVariables(job jobs.Job) []string {
	return []string{
		"SQLUICE_JOB_ID=" + strconv.FormatInt(job.ID, 10),
		"SQLUICE_KIND=" + job.Kind,
		"SQLUICE_QUEUE=" + job.Queue,
		"SQLUICE_ATTEMPT=" + strconv.Itoa(job.Attempt),
		"SQLUICE_MAX_ATTEMPTS=" + strconv.Itoa(job.MaxAttempts+job.Uncounted),
		"SQLUICE_PAYLOAD_VERSION=" + strconv.Itoa(job.PayloadVersion()),
	}
}

// waitOrStop waits for the program's end, and stops the program when ctx ends.
func waitOrStop(ctx context.Context, cmd *exec.Cmd) error {
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	terminate(cmd)
	timer := time.NewTimer(killAfter)
	defer timer.Stop()
	select {
	case err := <-ended:
		// The program's children may still be cleaning up.
		killRest(cmd, timer.C)
		return err
	case <-timer.C:
		kill(cmd)
		return <-ended
	}
}
