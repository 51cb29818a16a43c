package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// process is a command line in its own process.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	out    lockedBuffer
	errs   lockedBuffer
	waited func() error
}

// start starts a command line; the end of the test kills it.
func (c *cli) start(args ...string) *process {
	c.t.Helper()
	return c.startWith(nil, args...)
}

// startWith adds to the environment.
func (c *cli) startWith(env []string, args ...string) *process {
	c.t.Helper()
	return c.startLogging(nil, env, args...)
}

// startLogging writes standard error to a file, if there is one.
func (c *cli) startLogging(log *os.File, env []string, args ...string) *process {
	c.t.Helper()
	binary, err := os.Executable()
	if err != nil {
		c.t.Fatal(err)
	}
	p := &process{t: c.t, cmd: exec.Command(binary, args...)}
	p.cmd.Env = append(append(os.Environ(), asCommand+"=1", "SQLUICE_DB="+c.db), env...)
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.errs
	if log != nil {
		p.cmd.Stderr = log
	}
	p.cmd.WaitDelay = time.Second // its children may outlive it and hold its output open
	if err := p.cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	p.waited = sync.OnceValue(p.cmd.Wait)
	c.t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // fails if it has ended
		_ = p.waited()
		if c.t.Failed() {
			c.t.Logf("sqluice %q:\n%s%s", args, p.out.String(), p.errs.String())
		}
	})
	return p
}

func (p *process) wantExit(code int) {
	p.t.Helper()
	guard := time.AfterFunc(hangGuard, func() { _ = p.cmd.Process.Kill() })
	defer guard.Stop()
	if err := p.waited(); p.cmd.ProcessState.ExitCode() != code {
		p.t.Fatalf("sqluice %q: %v, want exit code %d\n%s", p.cmd.Args[1:], err, code, p.errs.String())
	}
}

func (p *process) signal(s os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// lockedBuffer can be read while it is written.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// hanging waits until the test program "hang" runs a job.
func hanging(t *testing.T, dir, id string) (pidFile string) {
	t.Helper()
	path := filepath.Join(dir, "hang-"+id)
	eventually(t, "job "+id+" runs", func() bool { return exists(path) })
	return path
}
