//go:build linux

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/sqluice/sqluice/internal/test/history"
	"github.com/sqluice/sqluice/jobs"
)

// doService is the role of a service that enqueues jobs and has its runner inside.
const doService = "service"

const (
	newKind        = "chaos-renamed" // the name of kind after a release renamed it
	sharedSchedule = "shared"        // the schedule that each release of a service declares
	quietLine      = "quiet"         // lets a service enqueue no more
)

// release holds the declarations in the code of a service.
type release struct {
	Version int    // of its payloads
	Kind    string // the name of its kind; empty for no service
	Aliases []string
	Every   time.Duration // between two ticks of the shared schedule
}

// spec returns that of the shared schedule.
func (r release) spec() string { return "@every " + r.Every.String() }

// kind returns the kind as the release declares it.
func (r release) kind() jobs.Kind[label] {
	return jobs.Kind[label]{
		Name: r.Kind, Aliases: r.Aliases, Version: r.Version,
		Upgrade:    func(_ int, payload json.RawMessage) (json.RawMessage, error) { return payload, nil },
		RetryDelay: func(jobs.Job, error) time.Duration { return 0 },
	}
}

// serviceAttempts is more than the crashes that a job of a service can have in one round, and fewer than the returns of workers that
// cannot run it.
var serviceAttempts = jobs.MaxAttempts(30)

// service enqueues jobs until a line comes on standard input, and works until its end.
func (p *player) service(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	quiet := make(chan struct{})
	go func() {
		lines := bufio.NewScanner(os.Stdin)
		if lines.Scan() {
			close(quiet)
		}
		for lines.Scan() { // until its end, however it comes
		}
		stop()
	}()
	runner, err := jobs.NewRunner(p.client, jobs.Config{
		Name: p.Name, Queues: map[string]int{jobs.DefaultQueue: p.Slots}, Lease: p.Lease, Grace: p.Grace, MaxCrashes: 100_000,
		Retention: jobs.Retention{Done: jobs.Forever},
		Logger:    slog.New(&refusals{Handler: slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelInfo}), notes: p.notes}),
	})
	if err != nil {
		return err
	}
	kind := p.Release.kind()
	kind.Handle(runner, func(ctx context.Context, job jobs.Job, args label) error { return p.handle(ctx, job, args, nil) })
	runner.Schedule(kind.Every(sharedSchedule, p.Release.Every, label{Key: p.Release.spec()}, jobs.CatchUpAll(999), serviceAttempts))
	ended := make(chan error, 1)
	go func() {
		defer stop() // a service without its runner ends here
		ended <- runner.Run(ctx)
	}()
	err = p.serve(ctx, kind, quiet)
	if err != nil {
		stop()
	}
	return errors.Join(err, <-ended)
}

// serve enqueues a job now and then.
func (p *player) serve(ctx context.Context, kind jobs.Kind[label], quiet <-chan struct{}) error {
	const between = 20 * time.Millisecond
	tick := time.NewTicker(between)
	defer tick.Stop()
	for call := 0; ; call++ {
		select {
		case <-ctx.Done():
			return nil
		case <-quiet:
			return nil
		case <-tick.C:
		}
		if err := p.addOne(ctx, kind, fmt.Sprintf("%s/%d", p.Name, call)); err != nil {
			return err
		}
	}
}

// addOne enqueues one job and records the answer.
func (p *player) addOne(ctx context.Context, kind jobs.Kind[label], key string) error {
	args := label{Key: key}
	payload, err := json.Marshal(args)
	if err != nil {
		return err
	}
	if err := p.notes.Write(history.Event{What: history.Invoke, Key: key, Payload: history.Digest(payload)}); err != nil {
		return err
	}
	receipt, told := kind.Enqueue(context.WithoutCancel(ctx), p.client, args, serviceAttempts)
	e := history.Event{What: history.Acked, Key: key, Job: receipt.ID}
	switch {
	case errors.Is(told, jobs.ErrUnknownOutcome):
		e.What = history.Unknown
	case told != nil:
		e.What = history.Refused
	}
	if err := p.notes.Write(e); err != nil || told == nil {
		return err
	}
	return p.refused(told)
}
