package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"
)

// mishaps counts faults in a peer that continues, and prints the first to standard error.
type mishaps struct {
	mu       sync.Mutex
	count    int
	first    string
	stopping bool
}

// addError counts an error.
func (f *mishaps) addError(err error) {
	if err != nil {
		f.add(err.Error())
	}
}

func (f *mishaps) add(what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count++
	if f.count == 1 {
		f.first = what
		fmt.Fprintln(os.Stderr, "# the first error of a worker process:", what)
	}
}

// stop stops workers, and counts the error that this returns. What the library logs from here on is only printed: the
// measured work is over, and River logs a connection that it closed before it stopped to listen there, or that it could
// not release its leadership within a second.
func (f *mishaps) stop(workers func() error) {
	f.mu.Lock()
	f.stopping = true
	f.mu.Unlock()
	f.addError(workers())
}

// addLogged counts what a library logs as an error.
func (f *mishaps) addLogged(what string) {
	f.mu.Lock()
	stopping := f.stopping
	f.mu.Unlock()
	if stopping {
		fmt.Fprintln(os.Stderr, "# an error while workers stop:", what)
		return
	}
	f.add(what)
}

// addTo adds the count to a report.
func (f *mishaps) addTo(r *report) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r.Errors += f.count
	r.First = cmp.Or(r.First, f.first)
}

// logger counts records at the level of errors as mishaps, and drops all others.
func (f *mishaps) logger() *slog.Logger { return slog.New(mishapHandler{f}) }

type mishapHandler struct{ mishaps *mishaps }

func (mishapHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelError
}

func (h mishapHandler) Handle(_ context.Context, r slog.Record) error {
	text := r.Message
	r.Attrs(func(a slog.Attr) bool {
		text += " " + a.String()
		return true
	})
	h.mishaps.addLogged(text)
	return nil
}

func (h mishapHandler) WithAttrs([]slog.Attr) slog.Handler { return h }
func (h mishapHandler) WithGroup(string) slog.Handler      { return h }
