package main

import (
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"

	safe "github.com/sqluice/sqluice/internal/printable"
)

// execValue collects the programs of --exec, one for each kind.
type execValue struct{ flags *workFlags }

func (v *execValue) Set(text string) error {
	p, err := parseExec(text)
	if err != nil {
		return err
	}
	if err := v.flags.free(p.kind); err != nil {
		return err
	}
	v.flags.programs = append(v.flags.programs, p)
	return nil
}

// free returns an error for a kind that has a program or a receiver.
func (f *workFlags) free(kind string) error {
	for _, p := range f.programs {
		if p.kind == kind {
			return fmt.Errorf("name a kind once: %q has a program already", kind)
		}
	}
	for _, w := range f.receivers {
		if w.kind == kind {
			return fmt.Errorf("name a kind once: %q has a URL already", kind)
		}
	}
	return nil
}

func (v *execValue) String() string { return "" }
func (v *execValue) Type() string   { return "KIND=CMD" }

// queueValue collects the queues of --queue, with 0 for a queue without a number.
type queueValue struct{ queues map[string]int }

func (v *queueValue) Set(text string) error {
	name, n := text, 0
	if i := strings.LastIndexByte(text, '='); i >= 0 {
		var err error
		if n, err = strconv.Atoi(text[i+1:]); err != nil || n < 1 || n > maxConcurrency {
			return fmt.Errorf("be NAME or NAME=N, with N from 1 to %d", maxConcurrency)
		}
		name = text[:i]
	}
	if name == "" {
		return errors.New("be NAME or NAME=N: the name is missing")
	}
	if err := (&nameValue{new(string)}).Set(name); err != nil {
		return err
	}
	if _, there := v.queues[name]; there {
		return fmt.Errorf("name a queue once: %q was given before", name)
	}
	v.queues[name] = n
	return nil
}

func (v *queueValue) String() string { return "" }
func (v *queueValue) Type() string   { return "NAME[=N]" }

// newLogger writes above the progress line. slog's text format quotes characters that a terminal would obey; jsonEscaper does
// so for its JSON format.
func newLogger(p *progress, format, level string) *slog.Logger {
	options := &slog.HandlerOptions{Level: map[string]slog.Level{
		"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
	}[level]}
	if format == "json" {
		return slog.New(slog.NewJSONHandler(jsonEscaper{p}, options))
	}
	return slog.New(slog.NewTextHandler(p, options))
}

// jsonEscaper escapes harmful characters in the JSON lines written to it, each in one Write.
type jsonEscaper struct{ p *progress }

func (j jsonEscaper) Write(line []byte) (int, error) {
	if _, err := j.p.Write(safe.JSON(line)); err != nil {
		return 0, err
	}
	return len(line), nil
}
