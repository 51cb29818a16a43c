//go:build linux

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/receipts"
	"github.com/sqluice/sqluice/internal/test/history"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/postgres"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

// role describes the work of a process of a lane.
type role struct {
	Do      string // work or enqueue
	DB      string // a SQLite file's path or a PostgreSQL database's URL
	History string
	Name    string
	Seed    uint64
	Lease   time.Duration
	Grace   time.Duration
	Slots   int
	Longest time.Duration // of a handler; it waits to be released when 0
	Heeds   bool          // a waiting handler heeds the end of its context
	Pad     int           // the bytes that an enqueuer adds to each job

	Settable bool          // its clock can be set
	Offset   time.Duration // of that clock at the beginning
	Zone     string        // of the process
	Delay    time.Duration // the longest time until an added job is due
	Modes    bool          // an enqueuer's jobs are also replaced, by unique modes, and updated

	Schedules []string // that it declares: see everySecond

	Keys  []string // the ids of the keys that it encrypts and decrypts with; none encrypt nothing
	User  string   // whose jobs an enqueuer adds, or who is forgotten
	Fails bool     // a handler fails now and then

	LimitKeys int // of the jobs that an enqueuer adds; some handlers throttle them

	Release release // of a service
}

func (r role) play() error {
	switch r.Do {
	case doProgram:
		return r.program()
	case doFirstUse:
		return r.addFirst(context.Background())
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	notes, err := newScribe(r.History, r.Name)
	if err != nil {
		return err
	}
	store, err := r.openWithClock(ctx, notes.observer())
	if err != nil {
		return errors.Join(err, notes.close())
	}
	encryption, err := cipherOf(r.Keys)
	if err != nil {
		return errors.Join(err, store.Close(), notes.close())
	}
	p := &player{role: r, notes: notes, client: jobs.New(store, jobs.WithCipher(encryption)), random: rand.New(rand.NewPCG(r.Seed, 0))}
	switch r.Do {
	case "enqueue":
		err = p.enqueue(ctx)
	case doMigrate:
		err = p.migrate(ctx)
	case doPrison:
		err = p.workInPrison(ctx)
	case doMisfits:
		err = p.workWithMisfits(ctx)
	case doRekey:
		err = p.rekey(ctx)
	case doForget:
		err = p.forget(ctx)
	case doService:
		err = p.service(ctx)
	default:
		err = p.work(ctx)
	}
	return errors.Join(err, store.Close(), notes.close())
}

// openStore opens the database of a lane, which must be there.
func openStore(ctx context.Context, address string, observer *jobs.Observer) (jobs.Store, error) {
	if !strings.HasPrefix(address, "postgres://") {
		return sqlite.Open(ctx, address, sqlite.MustExist(), sqlite.WithObserver(observer))
	}
	return openPostgres(ctx, address, postgres.WithObserver(observer))
}

func openPostgres(ctx context.Context, address string, opts ...postgres.Option) (jobs.Store, error) {
	parsed, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	// The default grows with the processors, and a server takes 100 connections.
	query := parsed.Query()
	query.Set("pool_max_conns", "4")
	parsed.RawQuery = query.Encode()
	return postgres.Open(ctx, parsed.String(), opts...)
}

// player is a process that plays a role.
type player struct {
	role
	notes  *scribe
	client *jobs.Client

	mu     sync.Mutex // guards random
	random *rand.Rand
}

func (p *player) number(n int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.random.IntN(n)
}

// enqueue adds as many jobs as each line of standard input asks for, and prints after each how many were acknowledged.
func (p *player) enqueue(ctx context.Context) error {
	calls := 0
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var want int
		if _, err := fmt.Sscan(lines.Text(), &want); err != nil {
			return err
		}
		acked := 0
		for acked < want && ctx.Err() == nil {
			calls++
			n, err := p.call(ctx, calls, want-acked)
			if err != nil {
				return err
			}
			acked += n
		}
		if _, err := fmt.Println(acked); err != nil {
			return err
		}
	}
	return lines.Err()
}

// refusedPause is the time for which a refused enqueuer leaves the database alone.
const refusedPause = 20 * time.Millisecond

// uniqueKeys is the number of unique keys that the enqueuers share.
const uniqueKeys = 20

// call adds one job, one with a unique key, or several together, and records the answer. acked is the number of added
// jobs. The error is of the history, or one that every other call would get too.
func (p *player) call(ctx context.Context, call, most int) (acked int, err error) {
	size, unique, sorts := 1, "", 4
	if p.Modes {
		sorts = 6
	}
	switch p.number(sorts) {
	case 0:
		size = min(most, 10)
		if p.LimitKeys > 0 && p.number(4) == 0 {
			size = min(most, 120) // the jobs of a long list wait at once
		}
	case 1:
		unique = fmt.Sprint("unique ", p.User, p.number(uniqueKeys)) // of one user: the job may be cancelled with the user
	case 4:
		return p.replace(ctx, fmt.Sprintf("%s/%d", p.Name, call))
	case 5:
		return p.addAndUpdate(ctx, fmt.Sprintf("%s/%d", p.Name, call))
	}
	keys := make([]string, size)
	payloads := make([]json.RawMessage, size)
	for i := range keys {
		keys[i] = fmt.Sprintf("%s/%d/%d", p.Name, call, i)
		if payloads[i], err = json.Marshal(label{Key: keys[i], Pad: strings.Repeat("x", p.Pad)}); err != nil {
			return 0, err
		}
		e := history.Event{What: history.Invoke, Key: keys[i], Unique: unique, Payload: history.Digest(payloads[i]), User: p.User}
		if err := p.notes.Write(e); err != nil {
			return 0, err
		}
	}
	ids, existed, told := p.add(ctx, payloads, unique)
	for i, key := range keys {
		e := history.Event{What: history.Acked, Key: key, Unique: unique, Existed: existed}
		switch {
		case errors.Is(told, jobs.ErrUnknownOutcome):
			e.What = history.Unknown
		case told != nil:
			e.What = history.Refused
		default:
			e.Job = ids[i]
		}
		if err := p.notes.Write(e); err != nil {
			return 0, err
		}
	}
	if told != nil {
		return 0, p.refused(told)
	}
	if existed {
		return 0, nil
	}
	return len(ids), nil
}

// refused returns the error of a call that every other call would get too, and pauses after any other one.
func (p *player) refused(told error) error {
	if !engine.StoreOf(p.client.Store()).CanRetry(told) {
		return told
	}
	fmt.Fprintln(os.Stderr, "enqueue:", told)
	time.Sleep(refusedPause) // asking all the time is not useful
	return nil
}

// attempts lets jobs outlive any number of crashes.
var attempts = jobs.MaxAttempts(30_000)

func (p *player) add(ctx context.Context, payloads []json.RawMessage, unique string) (ids []int64, existed bool, err error) {
	ctx = context.WithoutCancel(ctx)
	options := []jobs.EnqueueOption{attempts}
	if p.Delay > 0 {
		options = append(options, jobs.In(time.Duration(p.number(int(p.Delay)))))
	}
	if p.LimitKeys > 0 {
		options = append(options, jobs.LimitKey(limitKey(p.number(p.LimitKeys))))
	}
	if p.User != "" {
		options = append(options, jobs.UserID(p.User), jobs.Priority(1)) // before others: some must run when the user is forgotten
	}
	if len(payloads) > 1 {
		ids, err = receipts.IDs(p.client.EnqueueMany(ctx, kind, payloads, options...))
		return ids, false, err
	}
	if unique != "" {
		options = append(options, jobs.Unique(unique))
	}
	receipt, err := p.client.Enqueue(ctx, kind, payloads[0], options...)
	return []int64{receipt.ID}, receipt.Existed, err
}

// outcome is the result that a handler gives its job.
type outcome struct {
	Attempt int    `json:"attempt"`
	By      string `json:"by"`
}

// work runs a worker until a signal, or the end of standard input, which also releases handlers that wait.
func (p *player) work(ctx context.Context) error {
	ctx, released, stop := untilReleased(ctx)
	defer stop()
	runner, err := jobs.NewRunner(p.client, jobs.Config{
		Name: p.Name, Queues: map[string]int{jobs.DefaultQueue: p.Slots}, Lease: p.Lease, Grace: p.Grace, MaxCrashes: 100_000,
		Retention: jobs.Retention{Done: jobs.Forever}, // a clock may be set
		Logger:    slog.New(&refusals{Handler: slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelInfo}), notes: p.notes}),
	})
	if err != nil {
		return err
	}
	var limit jobs.Limit[label]
	if p.LimitKeys > 0 {
		limit.Running, limit.Total = declaredLimit.Running, jobs.LimitValues{Running: declaredTotal}
	}
	jobs.Kind[label]{Name: kind, Limit: limit, RetryDelay: func(jobs.Job, error) time.Duration { return 0 }}.Handle(runner,
		func(ctx context.Context, job jobs.Job, args label) error { return p.handle(ctx, job, args, released) })
	for _, name := range p.Schedules {
		runner.Schedule(everySecond(name))
	}
	return runner.Run(ctx)
}

// untilReleased returns a context that also ends with standard input, and a channel that signals that.
func untilReleased(ctx context.Context) (context.Context, <-chan struct{}, context.CancelFunc) {
	ctx, stop := context.WithCancel(ctx)
	released := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // its end, however it comes, is the signal
		close(released)
		stop()
	}()
	return ctx, released, stop
}

func (p *player) handle(ctx context.Context, job jobs.Job, args label, released <-chan struct{}) error {
	err := p.notes.Write(history.Event{
		What: history.Start, Key: args.Key, Job: job.ID, Attempt: job.Attempt, Priority: job.Priority,
		Due: job.RunAfter.UnixMicro(), Created: job.CreatedAt.UnixMicro(), Claimed: job.StartedAt.UnixMicro(),
		Payload: history.Digest(job.Payload), Limit: job.LimitKey,
	})
	if err != nil {
		return err
	}
	wait, heeds := released, p.Heeds
	if p.Longest > 0 {
		done := make(chan struct{})
		timer := time.AfterFunc(time.Duration(p.number(int(p.Longest))), func() { close(done) })
		defer timer.Stop()
		wait, heeds = done, true
	}
	cancelled := ctx.Done()
	if !heeds {
		cancelled = nil
	}
	select {
	case <-wait:
	case <-cancelled:
		// A handler that lost its job still reports it as done: its end must be refused.
		if !errors.Is(context.Cause(ctx), jobs.ErrLeaseLost) {
			return ctx.Err()
		}
	}
	if err := errors.Join(p.failsNow(ctx, job, args), p.throttles()); err != nil {
		return err
	}
	if err := job.SetResult(outcome{job.Attempt, p.Name}); err != nil {
		return err
	}
	return p.notes.Write(history.Event{What: history.Return, Job: job.ID, Attempt: job.Attempt})
}

// refusals records a worker's log lines of refused ends.
type refusals struct {
	slog.Handler
	notes *scribe
}

func (r *refusals) Handle(ctx context.Context, record slog.Record) error {
	if strings.Contains(record.Message, "the attempt's end was refused") {
		e := history.Event{What: history.Stale}
		record.Attrs(func(a slog.Attr) bool {
			switch a.Key {
			case "job":
				e.Job = a.Value.Int64()
			case "attempt":
				e.Attempt = int(a.Value.Int64())
			}
			return true
		})
		r.notes.note(e) // callers of a logger ignore errors
	}
	return r.Handler.Handle(ctx, record)
}
