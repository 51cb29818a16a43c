package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/sqluice/sqluice/internal/newjob"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/receipts"
	"github.com/sqluice/sqluice/jobs"
)

// readPayload reads one payload from standard input, without a line break at its end.
func (a *app) readPayload(ctx context.Context) (json.RawMessage, error) {
	data, err := io.ReadAll(io.LimitReader(newInterruptible(ctx, a.stdin), jobs.MaxPayload+3))
	if err != nil {
		return nil, fmt.Errorf("read standard input: %w", err)
	}
	data = bytes.TrimSuffix(bytes.TrimSuffix(data, []byte("\n")), []byte("\r"))
	if len(data) > jobs.MaxPayload {
		return nil, fmt.Errorf("standard input: payload must be at most %d bytes", jobs.MaxPayload)
	}
	return data, nil
}

// payloadOf returns the payload of an argument or a flag: its text, or standard input for -.
func (a *app) payloadOf(ctx context.Context, text string, fields map[string]string) (json.RawMessage, error) {
	if text != "-" {
		return json.RawMessage(text), nameFlags(jobs.ValidatePayload([]byte(text)), fields) // before a database is made
	}
	payload, err := a.readPayload(ctx)
	if err != nil {
		return nil, err
	}
	// Not through nameFlags: standard input is not part of the command line.
	if err := jobs.ValidatePayload(payload); err != nil {
		return nil, fmt.Errorf("standard input: %w", err)
	}
	return payload, nil
}

// enqueueLines enqueues one job for each line of standard input, all or none.
func (a *app) enqueueLines(ctx context.Context, kind string, f *enqueueFlags, opts []jobs.EnqueueOption) error {
	if err := a.beforeMaking(jobs.NewItem(kind, json.RawMessage("{}"), opts...).Validate, enqueueFields); err != nil {
		return err
	}
	var payloads []json.RawMessage
	err := a.readLines(ctx, jobs.MaxPayload, func(line []byte) error {
		payloads = append(payloads, bytes.Clone(line))
		return jobs.ValidatePayload(line)
	})
	if err != nil {
		return err
	}
	return a.enqueueRead(ctx, f, len(payloads), func(c *jobs.Client) ([]jobs.Receipt, error) {
		a.hintUnknown(ctx, c, []string{kind}, []string{f.queue})
		return c.EnqueueMany(ctx, kind, payloads, opts...)
	})
}

// enqueueItems enqueues the jobs that the lines of standard input describe, all or none.
func (a *app) enqueueItems(ctx context.Context, f *enqueueFlags) error {
	var items []jobs.Item
	var kinds, queues []string
	err := a.readLines(ctx, newjob.MaxBytes, func(line []byte) error {
		if err := core.CheckMark("job", line); err != nil {
			return err
		}
		item, err := newjob.Item(bytes.Clone(line))
		items = append(items, item)
		var names struct{ Kind, Queue string }
		if err == nil {
			err = json.Unmarshal(line, &names)
		}
		kinds, queues = withName(kinds, names.Kind), withName(queues, names.Queue)
		return err
	})
	if err != nil {
		return err
	}
	return a.enqueueRead(ctx, f, len(items), func(c *jobs.Client) ([]jobs.Receipt, error) {
		a.hintUnknown(ctx, c, kinds, queues)
		return c.EnqueueItems(ctx, items)
	})
}

// withName appends a name to the list unless it is the last one.
func withName(list []string, name string) []string {
	if len(list) > 0 && list[len(list)-1] == name {
		return list
	}
	return append(list, name)
}

// enqueueRead calls enqueue for the n jobs that were read, and prints their ids.
func (a *app) enqueueRead(ctx context.Context, f *enqueueFlags, n int, enqueue func(*jobs.Client) ([]jobs.Receipt, error)) error {
	progress := a.progress()
	defer progress.clear()
	progress.force(fmt.Sprintf("adding %d jobs", n))
	return a.withCreatedClient(ctx, f.durability, func(c *jobs.Client) error {
		added, err := enqueue(c)
		progress.clear()
		ids, err := receipts.IDs(added, err)
		switch {
		case errors.Is(err, jobs.ErrUnknownOutcome):
			return err
		case err != nil && f.items:
			return fmt.Errorf("%w; nothing was added", err)
		case err != nil:
			return nameFlags(err, enqueueFields)
		case f.asJSON && f.items:
			return a.printJSON(map[string]any{"jobs": newjob.Receipts(added)})
		case f.asJSON:
			return a.printJSON(map[string]any{"ids": append([]int64{}, ids...)}) // 0 for a dropped job
		}
		ids = slices.DeleteFunc(ids, func(id int64) bool { return id == 0 })
		a.printIDs(ids)
		if dropped := len(added) - len(ids); dropped > 0 {
			a.printError("the backlog of a limit key or queue is full: %d of %d jobs were not added", dropped, len(added))
		}
		return nil
	})
}

func (a *app) printIDs(ids []int64) {
	switch {
	case len(ids) > 1 && isTerminal(a.stdout):
		a.print("%d jobs, %d to %d", len(ids), ids[0], ids[len(ids)-1])
	default:
		for _, id := range ids {
			a.print("%d", id)
		}
	}
}

// readLines calls add with each line of standard input that is not blank. An error names its line. most is the maximum length of a line in
// bytes.
func (a *app) readLines(ctx context.Context, most int, add func([]byte) error) error {
	progress := a.progress()
	defer progress.clear()
	scanner := bufio.NewScanner(newInterruptible(ctx, a.stdin))
	// Room for a line break beyond the longest line.
	scanner.Buffer(make([]byte, 64<<10), most+3)
	line := 0
	for scanner.Scan() {
		line++
		if len(bytes.TrimSpace(scanner.Bytes())) == 0 {
			continue
		}
		if err := add(scanner.Bytes()); err != nil {
			return fmt.Errorf("standard input: line %d: %w; nothing was added", line, err)
		}
		progress.report(func() string { return fmt.Sprintf("%d lines read", line) })
	}
	switch err := scanner.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return fmt.Errorf("standard input: line %d: must be at most %d bytes; nothing was added", line+1, most)
	case err != nil:
		return fmt.Errorf("standard input: after line %d: %w; nothing was added", line, err)
	}
	return nil
}
