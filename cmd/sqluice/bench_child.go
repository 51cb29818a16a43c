package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sqluice/sqluice/jobs"
)

// benchReport is a process's report on its part of a drain.
type benchReport struct {
	Ran, Again int64
	LastEnd    int64 // when its last handler returned, in Unix nanoseconds
	CPU        float64
	PeakRSS    float64
}

// benchChild is another process of the bench. It prints that it is ready, is told to start, and answers: with a report for
// a drain, with the wait of each job in nanoseconds for the latency.
type benchChild struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	errs *bytes.Buffer // read only after the end of the process
}

type benchChildren []*benchChild

// startChildren starts n processes and returns when they are ready. With an error it returns the processes that it started.
func (b *bench) startChildren(ctx context.Context, n int, role string) (benchChildren, error) {
	var list benchChildren
	for range n {
		c, err := b.startChild(ctx, role)
		if err != nil {
			return list, fmt.Errorf("start a process: %w", err)
		}
		list = append(list, c)
	}
	for _, c := range list {
		if _, err := c.hear("ready"); err != nil {
			return list, err
		}
	}
	return list, nil
}

func (b *bench) startChild(ctx context.Context, role string) (*benchChild, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args := []string{"bench-process", role, "--concurrency", strconv.Itoa(b.flags.concurrency)}
	if !b.place.database.postgres() {
		args = append(args, "--durability", b.flags.level())
	}
	cmd := exec.CommandContext(ctx, program, args...)
	name := b.place.database.path
	if b.place.database.postgres() {
		name = b.place.database.url // in the environment: all users can see a command line, and it may have a password
	}
	cmd.Env = append(b.app.env, databaseVariable+"="+name)
	c := &benchChild{cmd: cmd, errs: &bytes.Buffer{}}
	cmd.Stderr = c.errs
	if c.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.out = bufio.NewReader(out)
	return c, cmd.Start()
}

// hear reads a line, and checks that it begins with a word if one is given.
func (c *benchChild) hear(word string) (string, error) {
	line, err := c.out.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("a process of the bench has ended: %w", err)
	}
	line = strings.TrimSpace(line)
	if word != "" && line != word {
		return "", fmt.Errorf("a process of the bench answered %q instead of %s", line, word)
	}
	return line, nil
}

// wait returns how long a job waited.
func (c *benchChild) wait() (time.Duration, error) {
	line, err := c.hear("")
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(line, 10, 64)
	return time.Duration(n), err
}

func (list benchChildren) begin() error {
	for _, c := range list {
		if _, err := fmt.Fprintln(c.in, "begin"); err != nil {
			return fmt.Errorf("start the work of a process of the bench: %w", err)
		}
	}
	return nil
}

func (list benchChildren) reports() ([]benchReport, error) {
	var all []benchReport
	for _, c := range list {
		line, err := c.hear("")
		if err != nil {
			return nil, err
		}
		var r benchReport
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			return nil, fmt.Errorf("a process of the bench answered %q: %w", line, err)
		}
		all = append(all, r)
	}
	return all, nil
}

// close closes the processes' input, which ends them, and waits for their end. The end of ctx has killed them.
func (list benchChildren) close(ctx context.Context) error {
	var errs []error
	for _, c := range list {
		_ = c.in.Close() // if the process has ended, Wait returns its error
	}
	for _, c := range list {
		if err := c.cmd.Wait(); err != nil && ctx.Err() == nil {
			errs = append(errs, fmt.Errorf("a process of the bench: %w: %s", err, strings.TrimSpace(c.errs.String())))
		}
	}
	return errors.Join(errs...)
}

// benchProcessCommand is the hidden command that the processes run.
func (a *app) benchProcessCommand() *cobra.Command {
	concurrency := 0
	cmd := &cobra.Command{
		Use:    "bench-process ROLE",
		Short:  "A process that bench has started",
		Hidden: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && args[0] != benchDrain && args[0] != benchLatency {
				return usagef("ROLE %q must be %s or %s", shown(args[0]), benchDrain, benchLatency)
			}
			return takes(1, 1, "ROLE")(cmd, args)
		},
	}
	flags := cmd.Flags()
	flags.Var(&intValue{&concurrency, 1, maxConcurrency}, "concurrency", "jobs at once")
	durability := durabilityFlag(flags)
	cmd.RunE = a.do(func(ctx context.Context, args []string) error {
		d, err := a.database()
		if err != nil {
			return err
		}
		opts, err := durability(d)
		if err != nil {
			return err
		}
		store, err := openDatabase(ctx, d, nil, opts...)
		if err != nil {
			return err
		}
		return errors.Join(a.benchProcess(ctx, args[0], jobs.New(store), concurrency), closeStore(store))
	})
	return cmd
}

func (a *app) benchProcess(ctx context.Context, role string, client *jobs.Client, concurrency int) error {
	if err := client.CheckSchema(ctx); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	in := bufio.NewReader(newInterruptible(ctx, a.stdin))
	if err := a.say("ready"); err != nil {
		return err
	}
	if _, err := in.ReadString('\n'); err != nil {
		return fmt.Errorf("wait for the start: %w", err)
	}
	// The end of the input ends the process, also when the bench is killed.
	go func() {
		_, _ = io.Copy(io.Discard, in) // an error is an end too
		stop()
	}()
	log := a.progress()
	if role == benchLatency {
		return waitForJobs(ctx, client, log, func(d time.Duration) {
			if a.say("%d", d.Nanoseconds()) != nil {
				stop() // the reader has gone
			}
		})
	}
	before := cpuTime()
	report, err := drainBench(ctx, client, concurrency, log)
	if err = errors.Join(err, ctx.Err()); err != nil {
		return err
	}
	report.CPU = rounded((cpuTime() - before).Seconds(), 3)
	text, err := json.Marshal(report)
	if err != nil {
		return err
	}
	return a.say("%s", text)
}
