package testdb

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// hang is the limit of a wait for a silent server.
const hang = 2 * time.Minute

// process is a server of one test. Its state is read from its log.
type process struct {
	command *exec.Cmd
	ready   chan struct{} // closed when the server accepts connections
	ended   chan struct{} // closed when the server has closed its log; text is complete then
	text    strings.Builder
}

// startProcess starts a server and waits until its log says that it is ready.
func startProcess(tb testing.TB, command *exec.Cmd, readyText string) *process {
	tb.Helper()
	p := &process{command: command, ready: make(chan struct{}), ended: make(chan struct{})}
	log, err := command.StderrPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := command.Start(); err != nil {
		tb.Fatalf("start %s: %v", command.Path, err)
	}
	go p.follow(log, readyText)
	select {
	case <-p.ready:
		return p
	case <-p.ended:
		tb.Fatalf("%s ended at its start: %v\n%s", command.Path, p.wait(), p.text.String())
	case <-time.After(hang):
		tb.Fatal(errors.Join(fmt.Errorf("%s was not ready after %s", command.Path, hang), command.Process.Kill(), p.wait()))
	}
	return nil
}

// stop ends the server by a signal and returns when it is gone.
func (p *process) stop(signal os.Signal) error {
	return errors.Join(p.command.Process.Signal(signal), p.wait())
}

// wait reaps the server; an end by the test's signal is no error.
func (p *process) wait() error {
	<-p.ended
	err := p.command.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil
	}
	return err
}

// follow reads the log to its end: a server blocks when the pipe of its log is full. Lines may be long, because the
// server repeats failing statements.
func (p *process) follow(log io.Reader, readyText string) {
	defer close(p.ended)
	isReady := false
	lines := bufio.NewReader(log)
	for {
		line, err := lines.ReadString('\n')
		p.text.WriteString(line)
		if !isReady && strings.Contains(line, readyText) {
			isReady = true
			close(p.ready)
		}
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			fmt.Fprintln(&p.text, "read the log:", err)
			return
		}
	}
}
