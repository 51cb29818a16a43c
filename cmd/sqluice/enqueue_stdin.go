package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

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

// enqueueLines enqueues one job for each line of standard input, all or none.
func (a *app) enqueueLines(ctx context.Context, kind string, f *enqueueFlags, opts []jobs.EnqueueOption) error {
	progress := a.progress()
	defer progress.end()
	payloads, err := readLines(newInterruptible(ctx, a.stdin), progress)
	if err != nil {
		return fmt.Errorf("standard input: %w; nothing was added", err)
	}
	progress.force(fmt.Sprintf("adding %d jobs", len(payloads)))
	return a.withCreatedClient(ctx, f.durability, func(c *jobs.Client) error {
		ids, err := receipts.IDs(c.EnqueueMany(ctx, kind, payloads, opts...))
		progress.end()
		if err != nil {
			return nameFlags(err, enqueueFields)
		}
		if f.asJSON {
			return a.printJSON(map[string]any{"ids": append([]int64{}, ids...)})
		}
		a.printIDs(ids)
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

// readLines reads the payloads and validates each, so that an error can name its line. It keeps lines byte for byte.
func readLines(r io.Reader, progress *progress) ([]json.RawMessage, error) {
	scanner := bufio.NewScanner(r)
	// Room for a line break beyond the largest payload.
	scanner.Buffer(make([]byte, 64<<10), jobs.MaxPayload+3)
	var payloads []json.RawMessage
	line := 0
	for scanner.Scan() {
		line++
		if len(bytes.TrimSpace(scanner.Bytes())) == 0 {
			continue
		}
		if err := jobs.ValidatePayload(scanner.Bytes()); err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		payloads = append(payloads, bytes.Clone(scanner.Bytes()))
		progress.note(func() string { return fmt.Sprintf("%d lines read", line) })
	}
	switch err := scanner.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, fmt.Errorf("line %d: payload must be at most %d bytes", line+1, jobs.MaxPayload)
	case err != nil:
		return nil, fmt.Errorf("after line %d: %w", line, err)
	}
	return payloads, nil
}
