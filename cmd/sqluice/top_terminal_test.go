//go:build unix

package main

import (
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/creack/pty"
	"golang.org/x/term"
)

// terminal is a command line on its own terminal.
type terminal struct {
	t      *testing.T
	keys   *os.File
	screen lockedBuffer
	cmd    *exec.Cmd
	before *term.State
	ended  chan error
}

func (c *cli) onTerminal(args ...string) *terminal {
	c.t.Helper()
	return c.onTerminalWith(nil, args...)
}

// onTerminalWith reads standard input from another reader, unless it is nil.
func (c *cli) onTerminalWith(stdin io.Reader, args ...string) *terminal {
	c.t.Helper()
	return c.onTerminalOf(nil, stdin, args...)
}

// onTerminalOf sets variables of the environment too.
func (c *cli) onTerminalOf(env []string, stdin io.Reader, args ...string) *terminal {
	c.t.Helper()
	binary, err := os.Executable()
	if err != nil {
		c.t.Fatal(err)
	}
	ours, theirs, err := pty.Open()
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = ours.Close() }) // which ends the reading
	if err := pty.Setsize(ours, &pty.Winsize{Rows: 24, Cols: 80}); err != nil {
		c.t.Fatal(err)
	}
	tty := &terminal{t: c.t, keys: ours, ended: make(chan error, 1)}
	if tty.before, err = term.GetState(int(theirs.Fd())); err != nil {
		c.t.Fatal(err)
	}
	tty.cmd = exec.Command(binary, args...)
	tty.cmd.Env = append(append(os.Environ(), asCommand+"=1", "SQLUICE_DB="+c.db, "TERM=xterm-256color"), env...)
	tty.cmd.Stdin, tty.cmd.Stdout, tty.cmd.Stderr = theirs, theirs, theirs
	if stdin != nil {
		tty.cmd.Stdin = stdin
	}
	const stdout = 1
	tty.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: stdout}
	if err := tty.cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		_ = tty.cmd.Process.Kill() // it may have ended
		_ = theirs.Close()
		if c.t.Failed() {
			drawn := tty.screen.String()
			c.t.Logf("the terminal got %q", drawn[max(0, len(drawn)-5000):])
		}
	})
	go func() { _, _ = io.Copy(&tty.screen, ours) }() // ends with the terminal
	go func() { tty.ended <- tty.cmd.Wait() }()
	return tty
}

func (tty *terminal) types(text string) {
	tty.t.Helper()
	if _, err := io.WriteString(tty.keys, text); err != nil {
		tty.t.Fatal(err)
	}
}

// shows waits until the terminal shows a text. It makes top redraw the screen: unchanged characters are not written again.
func (tty *terminal) shows(text string) {
	tty.t.Helper()
	const drawAnew = "\x0c"
	from, polls := len(tty.screen.String()), 0
	eventually(tty.t, "the terminal shows "+text, func() bool {
		if polls++; polls%10 == 1 {
			tty.types(drawAnew)
		}
		return strings.Contains(ansi.Strip(tty.screen.String()[from:]), text)
	})
}

// wantRestored waits for the end and compares the terminal's state with that at the start.
func (tty *terminal) wantRestored() {
	tty.t.Helper()
	select {
	case err := <-tty.ended:
		if err != nil {
			tty.t.Errorf("it ended with %v", err)
		}
	case <-time.After(hangGuard):
		tty.t.Fatal("it does not end")
	}
	after, err := term.GetState(int(tty.keys.Fd()))
	if err != nil {
		tty.t.Fatal(err)
	}
	if *after != *tty.before {
		tty.t.Errorf("the terminal was %+v and is %+v", *tty.before, *after)
	}
	for _, mode := range []struct{ on, off, name string }{
		{ansi.SetModeAltScreenSaveCursor, ansi.ResetModeAltScreenSaveCursor, "the other screen"},
		{ansi.ResetModeTextCursorEnable, ansi.SetModeTextCursorEnable, "the hidden cursor"},
		{ansi.SetModeBracketedPaste, ansi.ResetModeBracketedPaste, "bracketed paste"},
	} {
		drawn := tty.screen.String()
		eventually(tty.t, mode.name+" is left", func() bool {
			drawn = tty.screen.String()
			return strings.LastIndex(drawn, mode.off) > strings.LastIndex(drawn, mode.on)
		})
		if !strings.Contains(drawn, mode.on) {
			tty.t.Errorf("%s was never begun", mode.name)
		}
	}
}

func TestTopOnATerminal(t *testing.T) {
	c := newCLI(t)
	c.ok("up")
	top := c.onTerminal("top", "--interval", "200ms")
	top.shows("no failed jobs")
	c.enqueue("crunch", "--max-attempts", "1")
	c.ok("work", "--drain", "--exec", execFlag(t, "crunch", "fail", "65", "out-of-paper", "1"))
	top.shows("out-of-paper")
	top.shows("1 failed")

	c.enqueue("k", "--queue", "slow")
	top.shows("slow")
	top.types("j")
	top.shows("> slow")
	top.types("p")
	top.shows(`pause queue "slow"? y/n`)
	top.types("y")
	top.shows("queue slow is paused")
	if out := c.ok("queues"); !strings.Contains(out, "paused") {
		t.Errorf("the queues are\n%s", out)
	}
	if err := pty.Setsize(top.keys, &pty.Winsize{Rows: 15, Cols: 40}); err != nil {
		t.Fatal(err)
	}
	top.shows("…") // the error has no room
	top.types("q")
	top.wantRestored()
}

// A signal ends it as a key does.
func TestTopOnATerminalEndsAtASignal(t *testing.T) {
	for _, signal := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
		c := newCLI(t)
		top := c.onTerminal("top") // of a file that is not there yet
		top.shows("no answer since")
		c.ok("up")
		top.shows("no failed jobs")
		if err := top.cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		top.wantRestored()
	}
}

// A dumb terminal, such as that of an editor, shows escapes as they are.
func TestDumbTerminalsGetNoEscapes(t *testing.T) {
	c := newCLI(t)
	c.ok("up")
	for _, args := range [][]string{{"top"}, {"enqueue", "k", "--stdin"}, {"work", "--drain", "--exec", execFlag(t, "k", "print", "1")}} {
		dumb := c.onTerminalOf([]string{"TERM=dumb"}, strings.NewReader("1\n2\n"), args...)
		select {
		case err := <-dumb.ended:
			if err != nil {
				t.Errorf("sqluice %q ended with %v", args, err)
			}
		case <-time.After(hangGuard):
			t.Fatalf("sqluice %q does not end", args)
		}
		eventually(t, "there is an answer", func() bool { return dumb.screen.String() != "" })
		if drawn := dumb.screen.String(); strings.Contains(drawn, "\x1b") {
			t.Errorf("sqluice %q wrote %q", args, drawn)
		}
	}
}

// Standard input may be a pipe: then keys come from the terminal, and the pipe is not read.
func TestTopTakesKeysFromTheTerminal(t *testing.T) {
	c := newCLI(t)
	c.ok("up")
	top := c.onTerminalWith(strings.NewReader("q"), "top")
	top.shows("no failed jobs")
	select {
	case err := <-top.ended:
		t.Fatalf("it took a key from standard input: %v", err)
	default:
	}
	top.types("q")
	top.wantRestored()
}
