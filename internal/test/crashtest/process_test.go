//go:build unix

package crashtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sqluice/sqluice/internal/receipts"
	"github.com/sqluice/sqluice/jobs"
)

// hang is the limit of a wait: no test depends on how long anything takes.
const hang = 3 * time.Minute

// process is a process that a test started.
type process struct {
	t       *testing.T
	cmd     *exec.Cmd
	stdin   io.WriteCloser
	stdout  io.ReadCloser
	stderr  *buffer
	name    string
	history string
	waited  sync.Once
	err     error
	killed  bool
}

// start starts the test binary in a role. The end of the test kills it.
func start(t *testing.T, r role) *process {
	t.Helper()
	binary, err := os.Executable()
	must(t, err)
	r.History = filepath.Join(t.TempDir(), "history")
	text, err := json.Marshal(r)
	must(t, err)
	p := &process{t: t, cmd: exec.Command(binary), stderr: &buffer{}, name: r.Name, history: r.History}
	p.cmd.Env = append(os.Environ(), roleVariable+"="+string(text))
	p.cmd.Stderr = p.stderr
	p.stdin, err = p.cmd.StdinPipe()
	must(t, err)
	if r.Do == "ask" || r.Do == "insert" || r.Do == "modes" {
		p.stdout, err = p.cmd.StdoutPipe()
		must(t, err)
	}
	must(t, p.cmd.Start())
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // it may have ended
		_ = p.wait()
		if t.Failed() {
			t.Logf("%s %s said:\n%s", r.Do, r.Name, p.stderr)
		}
	})
	return p
}

func (p *process) wait() error {
	p.waited.Do(func() { p.err = p.cmd.Wait() })
	return p.err
}

func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	must(p.t, p.cmd.Process.Signal(s))
}

// stop stops the process until SIGCONT, and returns when it has stopped.
func (p *process) stop() {
	p.t.Helper()
	p.signal(syscall.SIGSTOP)
	for {
		var status syscall.WaitStatus
		_, err := syscall.Wait4(p.cmd.Process.Pid, &status, syscall.WUNTRACED, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		must(p.t, err)
		if !status.Stopped() {
			p.t.Fatalf("the process did not stop but end: %v\n%s", status, p.stderr)
		}
		return
	}
}

// kill ends the process at once and waits until the kernel has removed it.
func (p *process) kill() {
	p.t.Helper()
	p.signal(syscall.SIGKILL)
	p.killed = true
	_ = p.wait() // the error says that the process was killed
}

// release lets blocked jobs end and the worker with them.
func (p *process) release() {
	p.t.Helper()
	must(p.t, p.stdin.Close())
	must(p.t, p.wait())
}

func (p *process) events() []event { return readHistory(p.t, p.history) }

// started waits until the process has started n jobs with this attempt.
func (p *process) started(n, attempt int) []event {
	p.t.Helper()
	var list []event
	eventually(p.t, "the worker has started its jobs", func() bool {
		list = only(p.events(), "start", attempt)
		return len(list) >= n
	})
	return list
}

// said waits until the process has logged a text.
func (p *process) said(text string) {
	p.t.Helper()
	eventually(p.t, "a process says "+text, func() bool { return strings.Contains(p.stderr.String(), text) })
}

// buffer collects a process's output, and can be read at the same time.
type buffer struct {
	mu   sync.Mutex
	data bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.data.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.data.String()
}

func enqueueMany(t *testing.T, client *jobs.Client, kind string, n int, opts ...jobs.EnqueueOption) []int64 {
	t.Helper()
	payloads := make([]json.RawMessage, n)
	for i := range payloads {
		payloads[i] = json.RawMessage("{}")
	}
	ids, err := receipts.IDs(client.EnqueueMany(t.Context(), kind, payloads, opts...))
	must(t, err)
	return ids
}

func ended(t *testing.T, client *jobs.Client, id int64) jobs.Job {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	job, err := client.Wait(ctx, id)
	must(t, err)
	return job
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	eventuallyBefore(t, time.Now().Add(hang), what, holds)
}

func eventuallyBefore(t *testing.T, end time.Time, what string, holds func() bool) {
	t.Helper()
	for ; !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("given up waiting until %s", what)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
