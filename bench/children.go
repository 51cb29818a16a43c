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
	"time"
)

// childArg makes this program a worker process; the task follows as JSON.
const childArg = "worker-process"

// task is what a worker process is to do.
type task struct {
	Role        string
	Path        string // of the database
	Concurrency int
	Jobs        int    // how many to run, for a role that ends by itself after that
	Profile     string // where to write a CPU profile, if anywhere
}

// begun is the start of a job in a worker process.
type begun struct {
	Job, Attempt int64
	N            int   // of the payload
	At           int64 // nanoseconds of the clock that the processes of a machine share
}

// report is what a worker process says at its end.
type report struct {
	CPU   time.Duration // from begin to done
	Begun []begun
}

// child is a worker process. It says that it is ready, is told to begin, says that it is done, and reports.
type child struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// startChild returns when the process is ready.
func startChild(ctx context.Context, t task) (*child, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	arg, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, program, childArg, string(arg))
	cmd.Stderr = os.Stderr
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
	if err := c.hear("ready"); err != nil {
		return nil, errors.Join(err, c.kill())
	}
	return c, nil
}

// startChildren starts n of them.
func startChildren(ctx context.Context, n int, t task) (children, error) {
	var list children
	for i := range n {
		t := t
		if t.Profile != "" {
			t.Profile = fmt.Sprintf("%s.%d", t.Profile, i+1)
		}
		c, err := startChild(ctx, t)
		if err != nil {
			return nil, errors.Join(err, list.kill())
		}
		list = append(list, c)
	}
	return list, nil
}

func (c *child) hear(word string) error {
	line, err := c.out.ReadString('\n')
	if err != nil {
		return fmt.Errorf("a worker process ended before it was %s: %w", word, err)
	}
	if line != word+"\n" {
		return fmt.Errorf("a worker process said %q instead of %s", line, word)
	}
	return nil
}

func (c *child) say(word string) error {
	_, err := fmt.Fprintln(c.in, word)
	return err
}

// report reads the last word of a child that is done.
func (c *child) report() (report, error) {
	var r report
	err := json.NewDecoder(c.out).Decode(&r)
	return r, errors.Join(err, c.in.Close(), c.cmd.Wait())
}

func (c *child) kill() error {
	err := c.cmd.Process.Kill()
	_ = c.cmd.Wait() // says only that it was killed
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

// each stops at the first error, and then kills them all.
func (list children) each(fn func(*child) error) error {
	for _, c := range list {
		if err := fn(c); err != nil {
			return errors.Join(err, list.kill())
		}
	}
	return nil
}

func (list children) begin() error { return list.each(func(c *child) error { return c.say("begin") }) }
func (list children) done() error  { return list.each(func(c *child) error { return c.hear("done") }) }

// reports reads what all that are done have to say.
func (list children) reports() ([]report, error) {
	var all []report
	err := list.each(func(c *child) error {
		r, err := c.report()
		all = append(all, r)
		return err
	})
	return all, err
}

// runChild is a worker process.
func runChild(arg string) error {
	var t task
	if err := json.Unmarshal([]byte(arg), &t); err != nil {
		return err
	}
	role, ok := roles()[t.Role]
	if !ok {
		return fmt.Errorf("no role is called %q", t.Role)
	}
	p := &parent{in: bufio.NewReader(os.Stdin)}
	var r report
	err := profiled(t.Profile, func() (err error) {
		r.Begun, err = role(context.Background(), t, p)
		return err
	})
	if err != nil {
		return err
	}
	r.CPU = p.used
	return json.NewEncoder(os.Stdout).Encode(r)
}

// parent is the process that started this one.
type parent struct {
	in   *bufio.Reader
	cpu  time.Duration // at the beginning
	used time.Duration // from there to the end
}

// ready tells the parent so and waits to be told to begin.
func (p *parent) ready() error {
	if _, err := fmt.Println("ready"); err != nil {
		return err
	}
	_, err := p.in.ReadString('\n')
	p.cpu = cpuTime()
	return err
}

// done ends what is measured.
func (p *parent) done() error {
	p.used = cpuTime() - p.cpu
	_, err := fmt.Println("done")
	return err
}
