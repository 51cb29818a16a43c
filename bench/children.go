package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync/atomic"
	"time"
)

// The protocol of worker processes in any language: the last argument is the task as JSON. The process prepares, prints
// "ready", reads a line, does its work, prints "done", prints its report as a line of JSON, and ends. Standard output
// carries nothing else; messages go to standard error.

// childArg makes this program run as a worker process; the task follows.
const childArg = "worker-process"

// killedWithin bounds the wait for the output of a killed process.
const killedWithin = 5 * time.Second

// child is a worker process. It reports that it is ready, waits for the signal to begin, reports that it is done, and
// sends its report.
type child struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// startChild returns when the process is ready.
func startChild(ctx context.Context, t task) (*child, error) {
	command := t.command
	if command == nil {
		program, err := os.Executable()
		if err != nil {
			return nil, err
		}
		command = []string{program, childArg}
	}
	arg, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, command[0], append(slices.Clone(command[1:]), string(arg))...)
	cmd.Stderr, cmd.WaitDelay = os.Stderr, killedWithin
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := &child{cmd: cmd, in: in, out: bufio.NewReader(out)}
	if err := c.await("ready"); err != nil {
		return nil, errors.Join(err, c.kill())
	}
	return c, nil
}

// startChildren starts one process for each task.
func startChildren(ctx context.Context, tasks []task) (children, error) {
	var list children
	for i, t := range tasks {
		if t.Profile != "" {
			t.Profile = fmt.Sprintf("%s.%s.%d", t.Profile, t.Role, i+1)
		}
		c, err := startChild(ctx, t)
		if err != nil {
			return nil, errors.Join(err, list.kill())
		}
		list = append(list, c)
	}
	return list, nil
}

func (c *child) await(word string) error {
	line, err := c.out.ReadString('\n')
	if err != nil {
		return fmt.Errorf("a worker process ended before it was %s: %w", word, err)
	}
	if line != word+"\n" {
		return fmt.Errorf("a worker process said %q instead of %s", line, word)
	}
	return nil
}

func (c *child) send(word string) error {
	_, err := fmt.Fprintln(c.in, word)
	return err
}

// report reads the report of a child that is done.
func (c *child) report() (report, error) {
	var r report
	err := json.NewDecoder(c.out).Decode(&r)
	return r, errors.Join(err, c.in.Close(), c.cmd.Wait())
}

func (c *child) kill() error {
	err := c.cmd.Process.Kill()
	_ = c.cmd.Wait() // the error says only that it was killed
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

type children []*child

func (list children) kill() error {
	var errs []error
	for _, c := range list {
		errs = append(errs, c.kill())
	}
	return errors.Join(errs...)
}

// each calls fn for each child. It stops at the first error, and then kills all children.
func (list children) each(fn func(*child) error) error {
	for _, c := range list {
		if err := fn(c); err != nil {
			return errors.Join(err, list.kill())
		}
	}
	return nil
}

func (list children) begin() error { return list.each(func(c *child) error { return c.send("begin") }) }
func (list children) done() error  { return list.each(func(c *child) error { return c.await("done") }) }

// reports reads the reports of all children that are done.
func (list children) reports() ([]report, error) {
	var all []report
	err := list.each(func(c *child) error {
		r, err := c.report()
		all = append(all, r)
		return err
	})
	return all, err
}

// runChild runs a worker process.
func runChild(arg string) error {
	var t task
	if err := json.Unmarshal([]byte(arg), &t); err != nil {
		return err
	}
	p := &parent{in: bufio.NewReader(os.Stdin)}
	var r report
	err := profiled(t.Profile, func() error {
		play, err := findRole(t)
		if err == nil {
			r, err = play(context.Background(), t, p)
		}
		return err
	})
	if err != nil {
		return err
	}
	r.CPU, r.PeakRSS = p.used, p.peak
	return json.NewEncoder(os.Stdout).Encode(r)
}

func findRole(t task) (role, error) {
	c, err := findContender(slices.Concat(ours(), peers()), t.System)
	if err != nil {
		return nil, err
	}
	play := c.roles[t.Role]
	if play == nil {
		return nil, fmt.Errorf("system %s has no role %q", t.System, t.Role)
	}
	return play, nil
}

// parent is the process that started this one.
type parent struct {
	in   *bufio.Reader
	cpu  time.Duration // at the beginning
	used time.Duration // from there to the end
	peak int64         // bytes of memory, at the end
	over atomic.Bool   // the end has come
}

// ready tells the parent that this process is ready, and waits for the signal to begin.
func (p *parent) ready() error {
	if _, err := fmt.Println("ready"); err != nil {
		return err
	}
	_, err := p.in.ReadString('\n')
	if err != nil {
		return err
	}
	go p.watch()
	p.cpu = cpuTime()
	return nil
}

// watch ends this process when its parent has ended early: the parent closes the pipe only after the report.
func (p *parent) watch() {
	if _, err := io.Copy(io.Discard, p.in); err == nil && !p.over.Load() {
		fmt.Fprintln(os.Stderr, "bench: a worker process lost its parent")
		os.Exit(1)
	}
}

// done ends the measured part, and tells the parent.
func (p *parent) done() error {
	p.over.Store(true)
	p.used, p.peak = cpuTime()-p.cpu, peakRSS()
	_, err := fmt.Println("done")
	return err
}

// measure measures fn, from the parent's signal to begin.
func (p *parent) measure(fn func() (report, error)) (report, error) {
	if err := p.ready(); err != nil {
		return report{}, err
	}
	r, err := fn()
	if err != nil {
		return r, err
	}
	return r, p.done()
}
