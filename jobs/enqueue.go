package jobs

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/sqluice/sqluice/db"
)

// Receipt is the answer to an enqueue.
type Receipt struct {
	ID      int64 // of the job that was added, or of the one that was there
	Existed bool  // a job with the same unique key or request id was there, and none was added
}

// Enqueue adds a job of a kind given by name, with a payload that is JSON already; [Kind.Enqueue] is the typed form.
// Bad input is an [InvalidError]. After it returns without an error the job will run, whatever process dies when.
func (c *Client) Enqueue(ctx context.Context, kind string, payload json.RawMessage, opts ...EnqueueOption) (Receipt, error) {
	e := newEnqueue(kind, opts)
	receipt, err := c.enqueueOne(ctx, e, payload)
	if err != nil {
		return Receipt{}, fmt.Errorf("enqueue %s: %w", kind, err)
	}
	return receipt, nil
}

// EnqueueMany adds one job for each payload, in their order and alike in all options, and returns their ids: all of
// them or none. A faulty payload is named by its place, counted from 0. [Unique] and [RequestID] cannot be given to
// many jobs.
func (c *Client) EnqueueMany(ctx context.Context, kind string, payloads []json.RawMessage, opts ...EnqueueOption) ([]int64, error) {
	e := newEnqueue(kind, opts)
	ids, err := c.enqueueMany(ctx, e, len(payloads), func(i int) ([]byte, error) { return payloads[i], nil })
	if err != nil {
		return nil, fmt.Errorf("enqueue %d jobs of %s: %w", len(payloads), kind, err)
	}
	return ids, nil
}

func newEnqueue(kind string, opts []EnqueueOption) *enqueue {
	e := &enqueue{kind: kind, queue: DefaultQueue, maxAttempts: DefaultMaxAttempts}
	for _, opt := range opts {
		opt(e)
	}
	return e
}

func (c *Client) enqueueOne(ctx context.Context, e *enqueue, payload []byte) (Receipt, error) {
	if err := e.check(); err != nil {
		return Receipt{}, err
	}
	if err := validateJSON("payload", payload); err != nil {
		return Receipt{}, err
	}
	metadata, err := e.metadataColumn()
	if err != nil {
		return Receipt{}, err
	}
	now := c.store.Now()
	runAfter, status, err := e.runAfter(now)
	if err != nil {
		return Receipt{}, err
	}
	params := db.EnqueueJobParams{
		Kind: e.kind, Queue: e.queue, Payload: string(payload), Status: string(status), Priority: int64(e.priority),
		RunAfter: toMicros(runAfter), MaxAttempts: int64(e.maxAttempts), Timeout: e.timeout.Microseconds(),
		UniqueKey: e.uniqueKey, RequestID: e.requestID, UserID: e.userID, Tags: e.tagsColumn(), Metadata: metadata,
		Now: toMicros(now),
	}
	write := c.store.WriteTogether
	if e.uniqueKey != nil || e.requestID != nil {
		write = c.store.Write // it may have to wait for the end of a transaction that adds the same key
	}
	var receipt Receipt
	err = c.writeBy(ctx, write, WorkAdded, func(ctx context.Context, q db.Querier) error {
		var err error
		receipt, err = insertOrFind(ctx, q, params)
		return err
	})
	return receipt, err
}

// insertOrFind tries a few times because the job that was in the way can end between the two looks (not on SQLite,
// whose transaction holds the write lock).
func insertOrFind(ctx context.Context, q db.Querier, params db.EnqueueJobParams) (Receipt, error) {
	for range 5 {
		id, err := q.EnqueueJob(ctx, params)
		if err == nil {
			return Receipt{ID: id}, nil
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return Receipt{}, err
		}
		if params.RequestID != nil {
			id, err := q.GetJobIDByRequestID(ctx, db.GetJobIDByRequestIDParams{Kind: params.Kind, RequestID: *params.RequestID})
			if err == nil {
				return Receipt{ID: id, Existed: true}, nil
			}
			if !errors.Is(err, sql.ErrNoRows) {
				return Receipt{}, err
			}
		}
		if params.UniqueKey != nil {
			id, err := q.GetLiveJobIDByUniqueKey(ctx, db.GetLiveJobIDByUniqueKeyParams{Kind: params.Kind, UniqueKey: *params.UniqueKey})
			if err == nil {
				return Receipt{ID: id, Existed: true}, nil
			}
			if !errors.Is(err, sql.ErrNoRows) {
				return Receipt{}, err
			}
		}
		if err := openQueue(ctx, q); err != nil {
			return Receipt{}, err
		}
	}
	return Receipt{}, errors.New("the unique key or request id changed hands too often: try again")
}

// enqueueMany adds jobs that are alike in all but their payloads.
func (c *Client) enqueueMany(ctx context.Context, e *enqueue, n int, payload func(i int) ([]byte, error)) ([]int64, error) {
	if err := e.check(); err != nil {
		return nil, err
	}
	if e.uniqueKey != nil || e.requestID != nil {
		return nil, invalid("a unique key or request id", "", "be given to one job, not to many")
	}
	metadata, err := e.metadataColumn()
	if err != nil {
		return nil, err
	}
	now := c.store.Now()
	runAfter, status, err := e.runAfter(now)
	if err != nil || n == 0 {
		return nil, err
	}
	// Everything is validated before the transaction begins: a fault in the last payload must not hold the write
	// lock for the time that the first ones take.
	b := batch{n: n, payload: payload}
	if err := b.validate(); err != nil {
		return nil, err
	}
	params := db.EnqueueJobsParams{
		Kind: e.kind, Queue: e.queue, Status: string(status), Priority: int64(e.priority), RunAfter: toMicros(runAfter),
		MaxAttempts: int64(e.maxAttempts), Timeout: e.timeout.Microseconds(), UserID: e.userID, Tags: e.tagsColumn(),
		Metadata: metadata, Now: toMicros(now),
	}
	var ids []int64
	err = c.write(ctx, WorkAdded, func(ctx context.Context, q db.Querier) error {
		ids = make([]int64, 0, n)
		for list, err := range b.lists() {
			if err != nil {
				return err
			}
			params.Payloads = list
			added, err := q.EnqueueJobs(ctx, params)
			if err != nil {
				return err
			}
			if len(added) == 0 {
				if err := openQueue(ctx, q); err != nil {
					return err
				}
				return errors.New("the database added no job")
			}
			ids = append(ids, added...)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return ids, nil
}
