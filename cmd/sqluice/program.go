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
	// exitDiscard is the exit code by which a program fails its job for good: EX_DATAERR of sysexits.h.
	exitDiscard = 65

	// killAfter is how long a program that is told to end has before it is killed.
	killAfter = 3 * time.Second
)

// program is a handler of jobs: a program and its arguments, run once for each attempt.
type program struct {
	kind string
	path string // as found at the start
	args []string

	env     []string
	starter *starter
	log     *slog.Logger
}

// parseExec reads the value of --exec, KIND=CMD ARG..., and finds the program. The error is a phrase that follows
// "must".
func parseExec(text string) (*program, error) {
	kind, line, ok := strings.Cut(text, "=")
	if !ok || kind == "" {
		return nil, errors.New("have the form KIND=CMD ARG")
	}
	var invalid *jobs.InvalidError
	if err := jobs.ValidateName("kind", kind); errors.As(err, &invalid) {
		return nil, fmt.Errorf("name a kind, which must %s", invalid.Must)
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

// reason is what is wrong, without the name of the file, which the error's own text may repeat twice.
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

// handle is the handler: the payload goes to the program's standard input, and how the program ends decides what
// becomes of the job. When ctx ends first, the program and all that it started are told to end, and then killed.
func (p *program) handle(ctx context.Context, job jobs.Job, payload json.RawMessage) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	stdout, stderr := &head{limit: resultLimit}, &tail{limit: errorLimit}
	cmd := exec.Command(p.path, p.args...)
	// os/exec takes it for no error when the program ends without having read all.
	cmd.Stdin = strings.NewReader(string(payload))
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.Env = append(p.env[:len(p.env):len(p.env)], jobVariables(job)...)
	// A process that the program left behind may keep its output open: it is not waited for longer than this.
	cmd.WaitDelay = killAfter
	if err := p.starter.start(cmd); err != nil {
		return fmt.Errorf("start %s: %w", p.path, err)
	}
	err := waitOrStop(ctx, cmd)
	if stdout.dropped() > 0 {
		p.log.Warn("the result is cut: the rest of the program's output was dropped", "job", job.ID, "kind", job.Kind,
			"kept", resultLimit, "dropped", stdout.dropped())
	}
	return p.outcome(ctx, job, err, stdout, stderr)
}

// outcome returns the handler's error for how the program ended.
func (p *program) outcome(ctx context.Context, job jobs.Job, err error, stdout *head, stderr *tail) error {
	var exit *exec.ExitError
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay): // it ended well, though something else holds its output open
		return setResult(job, stdout)
	case errors.As(err, &exit) && exit.ExitCode() == exitDiscard:
		return jobs.Discard(stderr.failure(err))
	case ctx.Err() != nil:
		return fmt.Errorf("%w: %w", context.Cause(ctx), stderr.failure(err))
	default:
		return stderr.failure(err)
	}
}

// jobVariables tell the program which job it runs. Attempts that do not count are added to the most allowed, so that
// the last attempt is the one whose number equals SQLUICE_MAX_ATTEMPTS.
func jobVariables(job jobs.Job) []string {
	return []string{
		"SQLUICE_JOB_ID=" + strconv.FormatInt(job.ID, 10),
		"SQLUICE_KIND=" + job.Kind,
		"SQLUICE_QUEUE=" + job.Queue,
		"SQLUICE_ATTEMPT=" + strconv.Itoa(job.Attempt),
		"SQLUICE_MAX_ATTEMPTS=" + strconv.Itoa(job.MaxAttempts+job.Uncounted),
	}
}

// waitOrStop waits for the program's end, which it brings about when ctx ends.
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
		// What the program started may still be cleaning up.
		killRest(cmd, timer.C)
		return err
	case <-timer.C:
		kill(cmd)
		return <-ended
	}
}
