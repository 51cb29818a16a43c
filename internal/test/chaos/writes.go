//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/sqluice/sqluice/internal/test/history"
	"github.com/sqluice/sqluice/jobs"
)

// The unique keys of the modes: few, so that enqueues meet.
const (
	modeKeys   = 6
	modeQuiet  = 50 * time.Millisecond
	modeAtMost = 200 * time.Millisecond
)

// replace adds a job, or replaces the payload of the one that has its unique key, in one of the modes. acked and the error are as those
// of call.
func (p *player) replace(ctx context.Context, key string) (acked int, err error) {
	n := p.number(modeKeys)
	e := history.Event{What: history.Invoke, Key: key, Priority: p.number(3)}
	var option jobs.EnqueueOption
	switch n % 3 {
	case 0:
		e.Mode, e.Unique = history.Replace, fmt.Sprint("replaced ", n)
		option = jobs.UniqueReplace(e.Unique)
	case 1:
		e.Mode, e.Unique = history.Again, fmt.Sprint("again ", n)
		option = jobs.UniqueAgain(e.Unique)
	default:
		e.Mode, e.Unique, e.Quiet, e.AtMost = history.Debounce, fmt.Sprint("debounced ", n), modeQuiet.Microseconds(), modeAtMost.Microseconds()
		option = jobs.Debounce(e.Unique, modeQuiet, jobs.AtMost(modeAtMost))
	}
	receipt, err := p.write(ctx, e, option)
	if err != nil || receipt.ID == 0 || receipt.Existed {
		return 0, err
	}
	return 1, nil
}

// addAndUpdate adds a job that is due soon, and changes its payload and its priority, again and again until it runs. acked and the error
// are as those of call.
func (p *player) addAndUpdate(ctx context.Context, key string) (acked int, err error) {
	e := history.Event{What: history.Invoke, Key: key, Mode: history.Open, Priority: p.number(3)}
	receipt, err := p.write(ctx, e, jobs.In(time.Duration(p.number(int(20*time.Millisecond)))))
	if err != nil || receipt.ID == 0 {
		return 0, err
	}
	for i := range 1 + p.number(8) {
		e := history.Event{What: history.Invoke, Key: fmt.Sprintf("%s/update %d", key, i), Mode: history.Update, Job: receipt.ID, Priority: p.number(3)}
		payload, err := json.Marshal(label{Key: e.Key})
		if err != nil {
			return 1, err
		}
		e.Payload = history.Digest(payload)
		if err := p.notes.Write(e); err != nil {
			return 1, err
		}
		told := p.client.Update(context.WithoutCancel(ctx), receipt.ID, jobs.SetPayload(json.RawMessage(payload)), jobs.SetPriority(e.Priority))
		answer := answered(e, jobs.Receipt{ID: receipt.ID, Existed: true, Replaced: true}, told)
		if err := p.notes.Write(answer); err != nil {
			return 1, err
		}
		switch {
		case errors.Is(told, jobs.ErrStatus): // it runs, or has run
			return 1, nil
		case told != nil:
			return 1, p.refused(told)
		}
	}
	return 1, nil
}

// write enqueues a job, and records the intention and the answer. Without an answer the receipt is empty.
func (p *player) write(ctx context.Context, e history.Event, option jobs.EnqueueOption) (jobs.Receipt, error) {
	payload, err := json.Marshal(label{Key: e.Key})
	if err != nil {
		return jobs.Receipt{}, err
	}
	e.Payload = history.Digest(payload)
	if err := p.notes.Write(e); err != nil {
		return jobs.Receipt{}, err
	}
	receipt, told := p.client.Enqueue(context.WithoutCancel(ctx), kind, payload, option, jobs.Priority(e.Priority), attempts)
	if err := p.notes.Write(answered(e, receipt, told)); err != nil {
		return jobs.Receipt{}, err
	}
	if told != nil {
		return jobs.Receipt{}, p.refused(told)
	}
	return receipt, nil
}

// answered returns the event of an answer.
func answered(e history.Event, receipt jobs.Receipt, told error) history.Event {
	e.What, e.Job, e.Existed, e.Replaced = history.Acked, receipt.ID, receipt.Existed, receipt.Replaced
	switch {
	case errors.Is(told, jobs.ErrUnknownOutcome):
		e.What = history.Unknown
	case told != nil:
		e.What = history.Refused
	}
	return e
}
