package jobs

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/audit"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/jobs/jobtype"
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

// validate looks at a payload.
func (e *enqueue) validate(payload []byte) error {
	if e.encoded {
		return core.ValidateEncoded("payload", payload)
	}
	return core.ValidateJSON("payload", payload)
}

func (c *Client) enqueueOne(ctx context.Context, e *enqueue, payload []byte) (Receipt, error) {
	if c.around == nil {
		return c.addOne(ctx, e, payload)
	}
	r := &EnqueueRequest{client: c, enqueue: e, jobs: 1, payload: func(int) ([]byte, error) { return payload, nil }}
	var receipt Receipt
	r.add = func(ctx context.Context) (err error) {
		receipt, err = c.addOne(ctx, e, payload)
		r.ids, r.existed = []int64{receipt.ID}, receipt.Existed
		return err
	}
	err := r.pass(ctx)
	return receipt, err
}

// addOne adds a job, when all middleware has passed it.
func (c *Client) addOne(ctx context.Context, e *enqueue, payload []byte) (Receipt, error) {
	if err := e.check(); err != nil {
		return Receipt{}, err
	}
	if err := e.validate(payload); err != nil {
		return Receipt{}, err
	}
	metadata, err := e.metadataColumn()
	if err != nil {
		return Receipt{}, err
	}
	author, err := audit.Of(ctx)
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
		RunAfter: core.Micros(runAfter), MaxAttempts: int64(e.maxAttempts), Timeout: e.timeout.Microseconds(),
		UniqueKey: e.uniqueKey, RequestID: e.requestID, UserID: e.userID, Tags: e.tagsColumn(), Metadata: metadata,
		Now: core.Micros(now),
	}
	if err := e.mark(ctx, c); err != nil {
		return Receipt{}, err
	}
	note := func(ctx context.Context, q db.Querier, id int64) error {
		return author.Record(ctx, q, params.Now, audit.Entry{Action: jobtype.ActionEnqueue, JobID: id, Kind: params.Kind, Queue: params.Queue, Jobs: 1})
	}
	var receipt Receipt
	add := func(ctx context.Context, q db.Querier) error {
		var err error
		if receipt, err = insert(ctx, q, params); err != nil || receipt.Existed {
			return err
		}
		return note(ctx, q, receipt.ID)
	}
	switch {
	case c.scope().Tx == nil && e.uniqueKey == nil && e.requestID == nil:
		receipt, err = c.writeJob(ctx, params, note)
	case c.scope().Tx == nil || author != nil: // a job with a key may have to wait for the end of a transaction that adds the same one
		err = c.scope().Write(ctx, WorkAdded, add) // in a caller's with its note or not at all
	default:
		err = c.scope().Join(ctx, add)
	}
	if err == nil {
		added := 1
		if receipt.Existed {
			added = 0
		}
		tellEnqueued(c.store.Observer(), e, added, receipt.Existed, c.scope().Tx != nil)
	}
	return receipt, err
}

// insert adds a job, or finds the one that has its unique key or request id.
func insert(ctx context.Context, q db.Querier, p db.EnqueueJobParams) (Receipt, error) {
	if p.UniqueKey != nil || p.RequestID != nil {
		return insertOrFind(ctx, q, p)
	}
	id, err := q.EnqueueKeylessJob(ctx, db.EnqueueKeylessJobParams{
		Kind: p.Kind, Queue: p.Queue, Payload: p.Payload, Status: p.Status, Priority: p.Priority, RunAfter: p.RunAfter,
		MaxAttempts: p.MaxAttempts, Timeout: p.Timeout, UserID: p.UserID, Tags: p.Tags, Metadata: p.Metadata, Now: p.Now,
	})
	if errors.Is(err, sql.ErrNoRows) {
		return Receipt{}, whyNotAdded(ctx, q)
	}
	return Receipt{ID: id}, err
}

// whyNotAdded is the error of an insert that went well, and added nothing: the queue is closed, or a trigger of the application
// did that.
func whyNotAdded(ctx context.Context, q db.Querier) error {
	if err := lifecycle.CheckOpen(ctx, q); err != nil {
		return err
	}
	return errors.New("the database added no job")
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
		if err := lifecycle.CheckOpen(ctx, q); err != nil {
			return Receipt{}, err
		}
	}
	return Receipt{}, errors.New("the unique key or request id changed hands too often: try again")
}

// enqueueMany adds jobs that are alike in all but their payloads.
func (c *Client) enqueueMany(ctx context.Context, e *enqueue, n int, payload func(i int) ([]byte, error)) ([]int64, error) {
	if c.around == nil || n == 0 {
		return c.addMany(ctx, e, n, payload)
	}
	r := &EnqueueRequest{client: c, enqueue: e, jobs: n, payload: payload}
	r.add = func(ctx context.Context) (err error) {
		r.ids, err = c.addMany(ctx, e, n, payload)
		return err
	}
	if err := r.pass(ctx); err != nil {
		return nil, err
	}
	return r.ids, nil
}

// addMany adds them when all middleware has passed them.
func (c *Client) addMany(ctx context.Context, e *enqueue, n int, payload func(i int) ([]byte, error)) ([]int64, error) {
	if err := e.check(); err != nil {
		return nil, err
	}
	if e.uniqueKey != nil || e.requestID != nil {
		return nil, jobtype.NewInvalidError("a unique key or request id", "", "be given to one job, not to many")
	}
	metadata, err := e.metadataColumn()
	if err != nil {
		return nil, err
	}
	author, err := audit.Of(ctx)
	if err != nil {
		return nil, err
	}
	now := c.store.Now()
	runAfter, status, err := e.runAfter(now)
	if err != nil || n == 0 {
		return nil, err
	}
	// Everything is validated before the transaction begins: a fault in the last payload must not hold the write
	// lock for the time that the first ones take, and neither must a marshaler of the application.
	b := batch{n: n, payload: payload}
	if err := b.validate(e); err != nil {
		return nil, err
	}
	params := db.EnqueueJobsParams{
		Kind: e.kind, Queue: e.queue, Status: string(status), Priority: int64(e.priority), RunAfter: core.Micros(runAfter),
		MaxAttempts: int64(e.maxAttempts), Timeout: e.timeout.Microseconds(), UserID: e.userID, Tags: e.tagsColumn(),
		Metadata: metadata, Now: core.Micros(now),
	}
	if err := e.mark(ctx, c); err != nil {
		return nil, err
	}
	var ids []int64
	err = c.scope().Write(ctx, WorkAdded, func(ctx context.Context, q db.Querier) error {
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
				return whyNotAdded(ctx, q)
			}
			ids = append(ids, added...)
		}
		return author.RecordMany(ctx, q, params.Now, audit.Entry{Action: jobtype.ActionEnqueue, Kind: e.kind, Queue: e.queue, JobIDs: ids})
	})
	if err != nil {
		return nil, err
	}
	tellEnqueued(c.store.Observer(), e, len(ids), false, c.scope().Tx != nil)
	return ids, nil
}

// mark makes sure that the marks of the kind's fields are there before the job is.
func (e *enqueue) mark(ctx context.Context, c *Client) error {
	if len(e.sensitive) == 0 || c.marks.has(e.kind, e.sensitive) {
		return nil
	}
	return c.mark(ctx, map[string][]string{e.kind: e.sensitive})
}
