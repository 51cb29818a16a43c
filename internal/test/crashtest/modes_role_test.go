//go:build unix

package crashtest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"github.com/sqluice/sqluice/internal/queue/engine"
	histories "github.com/sqluice/sqluice/internal/test/history"
	"github.com/sqluice/sqluice/jobs"
)

// write is the payload of a job that may be replaced: the name of the enqueue that gave it.
type write struct {
	Key string `json:"key"`
}

// mode is a unique key that all enqueuers of a test share, with the way in which it is unique. Durations are parts of it, so that the
// checker knows them.
type mode struct {
	key    string
	mode   histories.Mode
	quiet  time.Duration
	atMost time.Duration
}

func modes() []mode {
	return []mode{
		{key: "debounced", mode: histories.Debounce, quiet: 150 * time.Millisecond},
		{key: "bounded", mode: histories.Debounce, quiet: 150 * time.Millisecond, atMost: 400 * time.Millisecond},
		{key: "again", mode: histories.Again},
		{key: "replaced", mode: histories.Replace},
		{key: "mixed", mode: histories.Again},
		{key: "mixed", mode: histories.Replace},
	}
}

func (m mode) option() jobs.EnqueueOption {
	switch m.mode {
	case histories.Debounce:
		return jobs.Debounce(m.key, m.quiet, jobs.AtMost(m.atMost))
	case histories.Again:
		return jobs.UniqueAgain(m.key)
	}
	return jobs.UniqueReplace(m.key)
}

// enqueueModes enqueues with each unique key as often as a line of standard input says, one after the other, and then prints that number.
func (r role) enqueueModes(ctx context.Context, client *jobs.Client) error {
	h, err := histories.Append(r.History, r.Name)
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(os.Stdin)
	for call := 0; lines.Scan(); {
		var n int
		if _, err := fmt.Sscan(lines.Text(), &n); err != nil {
			return err
		}
		for range n {
			for _, m := range modes() {
				call++
				if err := m.enqueue(ctx, client, h, fmt.Sprintf("%s/%d", r.Name, call)); err != nil {
					return err
				}
			}
		}
		fmt.Println(n)
	}
	return errors.Join(lines.Err(), h.Close())
}

// enqueue enqueues once, and records the intention and the answer. The error is one that another call would get too.
func (m mode) enqueue(ctx context.Context, client *jobs.Client, h *histories.Writer, key string) error {
	priority := rand.IntN(5)
	err := h.Write(histories.Event{
		What: histories.Invoke, Key: key, Unique: m.key, Mode: m.mode, Priority: priority, Quiet: m.quiet.Microseconds(), AtMost: m.atMost.Microseconds(),
	})
	if err != nil {
		return err
	}
	payload, err := json.Marshal(write{key})
	if err != nil {
		return err
	}
	receipt, err := client.Enqueue(ctx, "witnessed", payload, m.option(), jobs.Priority(priority), jobs.MaxAttempts(1000))
	answer := histories.Event{What: histories.Acked, Key: key, Job: receipt.ID, Existed: receipt.Existed, Replaced: receipt.Replaced}
	switch {
	case errors.Is(err, jobs.ErrUnknownOutcome):
		answer.What = histories.Unknown
	case err != nil && engine.StoreOf(client.Store()).CanRetry(err):
		answer.What = histories.Refused
	case err != nil:
		return err
	}
	return h.Write(answer)
}

// witness is a worker that records the payloads that its handlers get. Some attempts fail.
func (r role) witness(ctx context.Context) error {
	h, err := histories.Append(r.History, r.Name)
	if err != nil {
		return err
	}
	var fault error
	var mu sync.Mutex
	store, err := r.open(ctx, &jobs.Observer{Finished: func(f jobs.Finished) {
		if f.Fate == jobs.FateDone {
			mu.Lock()
			defer mu.Unlock()
			fault = errors.Join(fault, h.Write(histories.Event{What: histories.Ok, Job: f.ID, Attempt: f.Attempt}))
		}
	}})
	if err != nil {
		return err
	}
	runner, err := jobs.NewRunner(jobs.New(store), jobs.Config{
		Name: r.Name, Queues: r.Queues, MaxCrashes: 1000,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelInfo})),
	})
	if err != nil {
		return errors.Join(err, store.Close())
	}
	jobs.Kind[write]{Name: "witnessed", RetryDelay: jobs.FixedRetry(20 * time.Millisecond)}.Handle(runner, func(_ context.Context, job jobs.Job, args write) error {
		err := h.Write(histories.Event{
			What: histories.Start, Key: args.Key, Job: job.ID, Attempt: job.Attempt, Priority: job.Priority,
			Due: job.RunAfter.UnixMicro(), Created: job.CreatedAt.UnixMicro(), Claimed: job.StartedAt.UnixMicro(),
		})
		if err != nil {
			return err
		}
		<-time.After(rand.N(30 * time.Millisecond)) // the work
		if rand.IntN(8) == 0 {
			return errors.New("no")
		}
		return h.Write(histories.Event{What: histories.Return, Job: job.ID, Attempt: job.Attempt})
	})
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // its end, however it comes, is the signal
		stop()
	}()
	err = runner.Run(ctx)
	err = errors.Join(err, store.Close())
	mu.Lock()
	defer mu.Unlock()
	return errors.Join(err, fault, h.Close())
}
