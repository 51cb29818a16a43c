package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"golang.org/x/term"
)

const (
	redraw = 100 * time.Millisecond // the least time between two drawings of the progress line
	reline = 5 * time.Second        // the least time between two plain lines
)

// progress keeps one line up to date at the bottom of a terminal, below what else is written through it. Anything but
// a terminal gets a plain line now and then if it is asked for.
type progress struct {
	terminal bool
	width    func() int

	mu   sync.Mutex
	w    io.Writer
	line string    // what the terminal shows now
	next time.Time // when show draws again
}

func newProgress(w io.Writer) *progress {
	return &progress{w: w, terminal: isTerminal(w), width: func() int { return terminalWidth(w) }}
}

// show draws what line returns, unless it has drawn just before.
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

// note is show for those who also want plain lines where there is no terminal; the first comes after a while.
func (p *progress) note(line func() string) {
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

// force draws a line at once.
func (p *progress) force(line string) {
	if !p.terminal {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.draw(line)
}

// end removes the line.
func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.line != "" {
		p.draw("")
	}
}

// Write puts text above the line. It makes progress a place for logs.
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

// draw replaces the line. Its errors matter to nobody: a terminal that is gone shows no progress.
func (p *progress) draw(line string) {
	// One column stays free: some terminals wrap when the last is written.
	line = shorten(printable(line, oneLine), max(1, p.width()-1))
	_, _ = fmt.Fprintf(p.w, "\r\x1b[K%s", line)
	p.line = line
}

// file is what of os.File tells a terminal from the rest.
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
