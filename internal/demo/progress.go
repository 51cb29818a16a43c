package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

// progress shows the progress of the jobs: a bar that is redrawn on a terminal, a line for each tenth otherwise.
type progress struct {
	out      io.Writer
	terminal bool
	total    int
	start    time.Time
	tenth    int // the last one shown
}

const barWidth = 30

func newProgress(out io.Writer, total int) *progress {
	file, ok := out.(*os.File)
	return &progress{out: out, terminal: ok && term.IsTerminal(int(file.Fd())), total: total, start: time.Now()}
}

func (p *progress) show(ended, workers int) {
	rate := float64(ended) / time.Since(p.start).Seconds()
	state := fmt.Sprintf("%3d %%  %s of %s jobs  %s/s  %s",
		100*ended/p.total, count(ended), count(p.total), count(int(rate)), plural(workers, "worker"))
	if p.terminal {
		full := barWidth * ended / p.total
		fmt.Fprintf(p.out, "\r\x1b[K[%s%s] %s", strings.Repeat("#", full), strings.Repeat(".", barWidth-full), state)
		return
	}
	if tenth := 10 * ended / p.total; tenth > p.tenth {
		p.tenth = tenth
		fmt.Fprintln(p.out, state)
	}
}

// say writes a line that stays.
func (p *progress) say(format string, args ...any) {
	if p.terminal {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
	fmt.Fprintf(p.out, format+"\n", args...)
}

func (p *progress) clear() {
	if p.terminal {
		fmt.Fprintln(p.out)
	}
}
