package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// child is another process of the run. It prints "ready", and starts its role after it has read a line. Then it prints a report for a
// drain, or the wait of each job in nanoseconds for the latency.
type child struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	errs *bytes.Buffer // read only after the end of the process
}

type children []*child

// startChildren starts n processes and returns after all are ready. With an error it returns the processes that it has started.
func (r *run) startChildren(ctx context.Context, n int, role string) (children, error) {
	var list children
	for range n {
		c, err := r.startChild(ctx, role)
		if err != nil {
			return list, fmt.Errorf("start a process: %w", err)
		}
		list = append(list, c)
	}
	for _, c := range list {
		if _, err := c.readLine("ready"); err != nil {
			return list, err
		}
	}
	return list, nil
}

// startChild starts one process, with pipes to it.
func (r *run) startChild(ctx context.Context, role string) (_ *child, err error) {
	c := &child{errs: &bytes.Buffer{}}
	if c.cmd, err = r.host.Child(ctx, r.scratch.database, role); err != nil {
		return nil, err
	}
	c.cmd.Stderr = c.errs
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.out = bufio.NewReader(out)
	return c, c.cmd.Start()
}

// readLine returns the next line of the process. It fails unless that is word; any line does if word is empty.
func (c *child) readLine(word string) (string, error) {
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

// readWait returns the wait of the next job.
func (c *child) readWait() (time.Duration, error) {
	line, err := c.readLine("")
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(line, 10, 64)
	return time.Duration(n), err
}

// start makes the processes start their roles.
func (list children) start() error {
	for _, c := range list {
		if _, err := fmt.Fprintln(c.in, "begin"); err != nil {
			return fmt.Errorf("start the work of a process of the bench: %w", err)
		}
	}
	return nil
}

// reports waits for the report of each process.
func (list children) reports() ([]report, error) {
	var all []report
	for _, c := range list {
		line, err := c.readLine("")
		if err != nil {
			return nil, err
		}
		var r report
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			return nil, fmt.Errorf("a process of the bench answered %q: %w", line, err)
		}
		all = append(all, r)
	}
	return all, nil
}

// close closes the input of the processes, which ends them, and waits for their ends. It ignores their errors after the end of ctx,
// which kills them.
func (list children) close(ctx context.Context) error {
	var errs []error
	for _, c := range list {
		_ = c.in.Close() // Wait returns the error of a process that has ended
	}
	for _, c := range list {
		if err := c.cmd.Wait(); err != nil && ctx.Err() == nil {
			errs = append(errs, fmt.Errorf("a process of the bench: %w: %s", err, strings.TrimSpace(c.errs.String())))
		}
	}
	return errors.Join(errs...)
}
