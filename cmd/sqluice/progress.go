package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"
)

const (
	redraw = 100 * time.Millisecond // the least time between two updates of the line
	reline = 5 * time.Second        // the least time between two plain lines
)

// progress keeps a line up to date at the bottom of a terminal, below other text written through it. If the output is not a
// terminal, report prints plain lines at intervals.
type progress struct {
	terminal bool
	width    func() int

	mu   sync.Mutex
	w    io.Writer
	line string    // shown on the terminal
	next time.Time // when show draws again
}

func newProgress(w io.Writer) *progress {
	return &progress{w: w, terminal: isTerminal(w), width: func() int { return terminalWidth(w) }}
}

// progress returns a progress on standard error.
func (a *app) progress() *progress {
	p := newProgress(a.stderr)
	p.terminal = a.draws(a.stderr)
	return p
}

// draws reports whether the output is a terminal that obeys escapes. Editors and logs that show output name theirs dumb.
func (a *app) draws(w any) bool { return isTerminal(w) && a.getenv("TERM") != "dumb" }

// show draws the line that its argument returns, unless it was drawn just before.
func (p *progress) show(line func() string) {
	if !p.terminal {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := time.Now(); now.After(p.next) {
		p.next = now.Add(redraw)
		p.draw(line())
	}
}

// report calls show on a terminal. Elsewhere it prints plain lines at intervals, the first one after an interval.
func (p *progress) report(line func() string) {
	if p.terminal {
		p.show(line)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if p.next.IsZero() {
		p.next = now.Add(reline)
	}
	if now.After(p.next) {
		p.next = now.Add(reline)
		_, _ = fmt.Fprintln(p.w, line())
	}
}

// force draws a line at once. An empty line removes the line that is shown.
func (p *progress) force(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.terminal && (line != "" || p.line != "") {
		p.draw(line)
	}
}

// clear removes the line.
func (p *progress) clear() { p.force("") }

// Write writes text above the line, so that a log can write to progress.
func (p *progress) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	line := p.line
	if line != "" {
		p.draw("")
	}
	n, err := p.w.Write(text)
	if line != "" {
		p.draw(line)
	}
	return n, err
}

// draw replaces the line. It ignores errors: without a terminal there is no progress to show.
func (p *progress) draw(line string) {
	// One column stays free: some terminals wrap after a character in the last column.
	line = ansi.Truncate(printable(line), max(1, p.width()-1), "…")
	_, _ = fmt.Fprintf(p.w, "\r\x1b[K%s", line)
	p.line = line
}

// file is the part of os.File that is needed to detect a terminal.
type file interface{ Fd() uintptr }

func isTerminal(w any) bool {
	f, ok := w.(file)
	return ok && term.IsTerminal(int(f.Fd()))
}

func terminalWidth(w any) int {
	if f, ok := w.(file); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return 80
}
