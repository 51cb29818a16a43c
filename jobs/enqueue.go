package jobs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/audit"
	"github.com/sqluice/sqluice/internal/queue/cipher"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/internal/queue/limits"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// Receipt is the answer to an enqueue.
type Receipt struct {
	ID      int64 // the id of the added job, or of the existing one
	Existed bool  // a job with the same unique key or request id existed, and none was added

	// Replaced is set, beside Existed, when that job now has the payload and the options of this enqueue: see [UniqueReplace].
	Replaced bool

	// Dropped says that no job was added, because the backlog of its limit key or queue is full: see [OnFullDrop]. ID is then 0.
	Dropped bool
}

// receiptOf returns the receipt for an inserted row.
func receiptOf(i lifecycle.Inserted) Receipt {
	return Receipt{ID: i.ID, Existed: i.Existed, Replaced: i.Replaced, Dropped: i.Dropped}
}

// Enqueue adds a job of a kind given by name, with a payload that is JSON already; [Kind.Enqueue] is the typed form. A nil payload is an
// empty object, {}. Bad input returns an [InvalidError]. After it returns without an error the job will run, whatever process dies when.
//
// While the caller has an open transaction that has written, on SQLite, an enqueue outside of it waits five seconds for that transaction's
// lock, and fails with [ErrBusy]: use [Client.With].
func (c *Client) Enqueue(ctx context.Context, kind string, payload json.RawMessage, opts ...EnqueueOption) (Receipt, error) {
	receipt, err := c.enqueueOne(ctx, newEnqueue(kind, opts), orEmpty(payload))
	if err != nil {
		return Receipt{}, fmt.Errorf("enqueue %s: %w", kind, err)
	}
	return receipt, nil
}

// EnqueueMany adds one job for each payload, in order and with equal options, and returns a receipt for each: all of them or none. A nil
// payload is an empty object, {}. The error names a faulty payload by its index, counted from 0. [Unique] and [RequestID] cannot be given
// to many jobs. It is one transaction, and on SQLite other writers of the file wait for it: add millions in portions of 100,000.
func (c *Client) EnqueueMany(ctx context.Context, kind string, payloads []json.RawMessage, opts ...EnqueueOption) ([]Receipt, error) {
	receipts, err := c.enqueueMany(ctx, newEnqueue(kind, opts), len(payloads), func(i int) ([]byte, error) { return orEmpty(payloads[i]), nil })
	if err != nil {
		return nil, fmt.Errorf("enqueue %d jobs of %s: %w", len(payloads), kind, err)
	}
	return receipts, nil
}

// orEmpty returns the payload, or an empty object for a nil one.
func orEmpty(payload json.RawMessage) json.RawMessage {
	if payload == nil {
		return json.RawMessage("{}")
	}
	return payload
}

func newEnqueue(kind string, opts []EnqueueOption) *enqueue {
	e := &enqueue{kind: kind}
	for _, opt := range opts {
		opt(e)
	}
	return e
}

// validate returns an error for an invalid payload.
func (e *enqueue) validate(payload []byte) error {
	if err := cipher.CheckPayload(payload); err != nil {
		return err
	}
	if e.payloads.encoded {
		return core.ValidateEncoded("payload", payload)
	}
	return core.ValidateJSON("payload", payload)
}

// columns validates all options, but not the payload, and returns the columns of a job that is enqueued at a time.
func (e *enqueue) columns(now time.Time) (db.EnqueueJobParams, error) {
	metadata, noMetadata := e.checkedMetadata()
	runAfter, status, noTime := e.runAfter(now)
	startBy, noStart := e.startByColumn(now, runAfter)
	if err := cmp.Or(e.check(), noMetadata, noTime, noStart); err != nil {
		return db.EnqueueJobParams{}, err
	}
	row := e.row(now, runAfter, status, metadata)
	row.StartBy = startBy
	return row, nil
}

// insert returns the row to insert, with the columns of the job.
func (e *enqueue) insert(columns db.EnqueueJobParams) lifecycle.Row {
	return lifecycle.Row{EnqueueJobParams: columns, Unique: e.how(), StartWithin: e.startWithin}
}

// enqueueOne passes a job through the middleware and adds it.
func (c *Client) enqueueOne(ctx context.Context, e *enqueue, payload []byte) (Receipt, error) {
	if err := c.settle(ctx, e); err != nil {
		return Receipt{}, err
	}
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

// addOne validates a job, adds it, and calls the observer.
func (c *Client) addOne(ctx context.Context, e *enqueue, payload []byte) (Receipt, error) {
	job, err := e.columns(c.store.NowWithin(ctx))
	if err != nil {
		return Receipt{}, err
	}
	if err := e.validate(payload); err != nil {
		return Receipt{}, err
	}
	if job.Payload, err = c.scope().Cipher.JSON(job.Kind, cipher.Payload, payload); err != nil {
		return Receipt{}, err
	}
	author, err := audit.Of(ctx)
	if err != nil {
		return Receipt{}, err
	}
	if err := e.mark(ctx, c); err != nil {
		return Receipt{}, err
	}
	var receipt Receipt
	if c.scope().Tx == nil && author == nil && job.UniqueKey == nil && job.RequestID == nil && job.LimitKey == nil && !c.kinds.IsQueueBounded(job.Queue) {
		var ids []int64
		if ids, err = c.insert(ctx, engine.Insert{Job: db.EnqueueKeylessJobParamsOf(job)}); err == nil {
			receipt.ID = ids[0]
		}
	} else {
		receipt, err = c.insertWith(ctx, e.insert(job), author)
	}
	if err != nil {
		return Receipt{}, err
	}
	c.tellEnqueued(e, receipt)
	return receipt, nil
}

// inserter returns what inserts jobs that may have limit keys.
func (c *Client) inserter() limits.Inserter {
	in := limits.Inserter{Declared: c.kinds}
	if c.scope().Tx == nil {
		in.WaitsFrom = limits.WaitsFrom(c.store.LocksRows())
	}
	return in
}

// insertWith adds a job that needs more than one statement: one with a key, an author, or a transaction of the caller's.
func (c *Client) insertWith(ctx context.Context, job lifecycle.Row, author *audit.Author) (Receipt, error) {
	var receipt Receipt
	undo := author != nil || job.Unique.Mode != lifecycle.UniqueKeep
	err := c.scope().InsertWith(ctx, job.Queue, undo, func(ctx context.Context, q db.Querier) (inserted bool, err error) {
		what, err := c.inserter().Insert(ctx, q, job)
		receipt = receiptOf(what)
		if err != nil || what.Dropped || what.Existed && !what.Replaced {
			return false, err
		}
		if err := recordCancelled(ctx, q, author, job.Now, what); err != nil {
			return false, err
		}
		action := jobtype.ActionEnqueue
		if what.Replaced {
			action = jobtype.ActionUpdate
		}
		return true, author.Record(ctx, q, job.Now, audit.Entry{Action: action, JobID: what.ID, Kind: job.Kind, Queue: job.Queue, Jobs: 1})
	})
	return receipt, err
}

// enqueueMany passes jobs that differ only in their payloads through the middleware and adds them.
func (c *Client) enqueueMany(ctx context.Context, e *enqueue, n int, payload func(i int) ([]byte, error)) ([]Receipt, error) {
	if err := c.settle(ctx, e); err != nil {
		return nil, err
	}
	if c.around == nil || n == 0 {
		return c.addMany(ctx, e, n, payload)
	}
	r := &EnqueueRequest{client: c, enqueue: e, jobs: n, payload: payload}
	var receipts []Receipt
	r.add = func(ctx context.Context) (err error) {
		receipts, err = c.addMany(ctx, e, n, payload)
		r.ids = core.Map(receipts, func(receipt Receipt) int64 { return receipt.ID })
		return err
	}
	if err := r.pass(ctx); err != nil {
		return nil, err
	}
	return receipts, nil
}

// addMany validates jobs, adds them, and calls the observer.
func (c *Client) addMany(ctx context.Context, e *enqueue, n int, payload func(i int) ([]byte, error)) ([]Receipt, error) {
	job, err := e.columns(c.store.NowWithin(ctx))
	if err != nil {
		return nil, err
	}
	if e.uniqueKey != nil || e.requestID != nil {
		return nil, jobtype.NewInvalidError("a unique key or request id", "", "be given to one job, not to many")
	}
	author, err := audit.Of(ctx)
	if err != nil || n == 0 {
		return nil, err
	}
	// Everything is validated before the transaction begins: a fault in the last payload must not hold the write
	// lock for the time that the first ones take, and neither must a marshaler of the application.
	b := batch{n: n, payload: payload, stored: func(payload []byte) (string, error) { return c.scope().Cipher.JSON(job.Kind, cipher.Payload, payload) }}
	if err := b.validate(e); err != nil {
		return nil, err
	}
	if err := e.mark(ctx, c); err != nil {
		return nil, err
	}
	if e.limitKey != nil || c.kinds.IsQueueBounded(job.Queue) {
		return c.addLimited(ctx, e, job, b, author)
	}
	in := engine.Insert{Job: db.EnqueueKeylessJobParamsOf(job), Payloads: b.lists(), Count: n}
	var ids []int64
	if c.scope().Tx == nil && author == nil {
		ids, err = c.insert(ctx, in)
	} else {
		ids, err = c.insertManyWith(ctx, in, author)
	}
	if err != nil {
		return nil, err
	}
	receipts := core.Map(ids, func(id int64) Receipt { return Receipt{ID: id} })
	c.tellEnqueued(e, receipts...)
	return receipts, nil
}

// addLimited adds jobs with limit keys, or of a queue with a bounded backlog, and calls the observer.
func (c *Client) addLimited(ctx context.Context, e *enqueue, job db.EnqueueJobParams, b batch, author *audit.Author) ([]Receipt, error) {
	rows := make([]lifecycle.Row, b.n)
	for i := range rows {
		job.LimitKey = e.limitKeyOf(i)
		if job.LimitKey != nil && *job.LimitKey != "" {
			if err := ValidateName("limit key", *job.LimitKey); err != nil {
				return nil, fmt.Errorf("payload %d: %w", i, err)
			}
		}
		payload, err := b.payload(i)
		if err == nil {
			err = e.validate(payload) // a marshaler may return something else than before
		}
		if err == nil {
			job.Payload, err = b.stored(payload)
		}
		if err != nil {
			return nil, fmt.Errorf("payload %d: %w", i, err)
		}
		rows[i] = e.insert(job)
	}
	receipts := make([]Receipt, len(rows))
	err := c.scope().InsertWith(ctx, job.Queue, true, func(ctx context.Context, q db.Querier) (inserted bool, err error) {
		list, err := c.inserter().InsertAll(ctx, q, rows)
		if err != nil {
			return false, err
		}
		for i, item := range list {
			receipts[i] = receiptOf(item)
		}
		return recordItems(ctx, q, author, job.Now, common(rows), list)
	})
	if err != nil {
		return nil, err
	}
	c.tellEnqueued(e, receipts...)
	return receipts, nil
}

// insertManyWith adds jobs that have an author, or a transaction of the caller's.
func (c *Client) insertManyWith(ctx context.Context, in engine.Insert, author *audit.Author) (ids []int64, err error) {
	err = c.scope().InsertWith(ctx, in.Job.Queue, true, func(ctx context.Context, q db.Querier) (inserted bool, err error) {
		if ids, err = lifecycle.InsertMany(ctx, q, in); err != nil {
			return false, err
		}
		return true, author.RecordMany(ctx, q, in.Job.Now, audit.Entry{
			Action: jobtype.ActionEnqueue, Kind: in.Job.Kind, Queue: in.Job.Queue, JobIDs: ids,
		})
	})
	return ids, err
}

// insert adds jobs without keys in a separate transaction. If a single job is due, and an idle runner of this process takes its kind
// from its queue, insert hands it over to that runner.
func (c *Client) insert(ctx context.Context, in engine.Insert) ([]int64, error) {
	if err := c.scope().CheckOutside(ctx); err != nil {
		return nil, err
	}
	if in.Payloads == nil && in.Job.Status == string(StatusPending) {
		if ids, final, err := c.runners.HandOver(ctx, in); final {
			return ids, err
		}
	}
	ids, err := c.store.Insert(ctx, in)
	if !errors.Is(err, engine.ErrNotAdded) {
		return ids, err
	}
	return nil, c.store.Read(ctx, func(ctx context.Context, q db.Querier) error { return lifecycle.WhyNotAdded(ctx, q, err) })
}

// mark makes sure that the marks of the kind's fields are stored before the job.
func (e *enqueue) mark(ctx context.Context, c *Client) error {
	if len(e.sensitive) == 0 || c.marks.Has(e.kind, e.sensitive) {
		return nil
	}
	return c.marks.Ensure(ctx, c.scope(), map[string][]string{e.kind: e.sensitive})
}
