package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/audit"
	"github.com/sqluice/sqluice/internal/queue/cipher"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// Item is one of the jobs that [Client.EnqueueItems] adds together. Make it with [Kind.Item] or [NewItem].
type Item struct {
	job     *enqueue
	payload []byte
	fault   error
}

// Item returns a job of the kind for [Client.EnqueueItems].
func (k Kind[T]) Item(args T, opts ...EnqueueOption) Item {
	data, err := json.Marshal(args)
	if err != nil {
		err = fmt.Errorf("encode payload: %w", err)
	}
	return Item{job: k.enqueueOf(args, opts), payload: data, fault: err}
}

// NewItem returns a job of a kind given by name, with a payload that is JSON already, for [Client.EnqueueItems].
func NewItem(kind string, payload json.RawMessage, opts ...EnqueueOption) Item {
	return Item{job: newEnqueue(kind, opts), payload: orEmpty(payload)}
}

// Validate returns the error for which [Client.EnqueueItems] would refuse the job, without a database, or nil. It compares times with
// this machine's clock, which may differ from the queue's.
func (i Item) Validate() error {
	if i.job == nil {
		return jobtype.NewInvalidError("item", "", "be made with Kind.Item or NewItem, and not the zero Item")
	}
	_, err := i.columns(time.Now())
	return err
}

// columns validates the item, and returns its columns without the payload.
func (i Item) columns(now time.Time) (db.EnqueueJobParams, error) {
	row, err := i.job.columns(now)
	if err == nil {
		err = i.fault
	}
	if err == nil {
		err = i.job.validate(i.payload)
	}
	return row, err
}

// EnqueueItems adds jobs of any kinds and options in one transaction: all of them or none. It returns a receipt for each, in order. An
// item whose unique key or request id another job has, also an earlier one of the list, adds none, and its receipt has that job. The error
// names a faulty item by its index, counted from 0. Items with keys are added before the others, ordered by kind and unique key; of two
// with one request id and different unique keys, the first in that order is added. Middleware sees each item as a separate enqueue, inside
// those of the items before it: its next returns when all are there.
func (c *Client) EnqueueItems(ctx context.Context, items []Item) ([]Receipt, error) {
	for i, item := range items {
		if item.job == nil {
			return nil, fmt.Errorf("enqueue %d items: %w", len(items), jobtype.NewInvalidError("item", strconv.Itoa(i), "be made with Kind.Item or NewItem, and not the zero Item"))
		}
	}
	receipts := make([]Receipt, len(items))
	items = slices.Clone(items)
	for i, item := range items { // they can be used again
		if err := c.refresh(ctx); err != nil {
			return nil, fmt.Errorf("enqueue %d items: %w", len(items), err)
		}
		if item.job.isSettled() && c.around == nil { // otherwise the item itself would change
			continue
		}
		job := *item.job
		items[i].job = &job
		if err := c.settle(ctx, &job); err != nil {
			return nil, fmt.Errorf("enqueue %d items: %w", len(items), err)
		}
	}
	if err := c.passItems(ctx, items, receipts, 0); err != nil {
		return nil, fmt.Errorf("enqueue %d items: %w", len(items), err)
	}
	return receipts, nil
}

// passItems passes the items from the ith one on through the middleware, and adds all of them inside the last one's.
func (c *Client) passItems(ctx context.Context, items []Item, receipts []Receipt, i int) error {
	if i == len(items) || c.around == nil {
		return c.addItems(ctx, items, receipts)
	}
	item := items[i]
	r := &EnqueueRequest{client: c, enqueue: item.job, jobs: 1, payload: func(int) ([]byte, error) { return item.payload, item.fault }}
	r.add = func(ctx context.Context) error {
		err := c.passItems(ctx, items, receipts, i+1)
		r.ids, r.existed = []int64{receipts[i].ID}, receipts[i].Existed
		return err
	}
	return r.pass(ctx)
}

// addItems validates items, adds them, and calls the observer.
func (c *Client) addItems(ctx context.Context, items []Item, receipts []Receipt) error {
	author, err := audit.Of(ctx)
	if err != nil || len(items) == 0 {
		return err
	}
	now := c.store.NowWithin(ctx)
	rows := make([]lifecycle.Row, len(items))
	for i, item := range items {
		row, err := item.columns(now)
		if err == nil {
			row.Payload, err = c.scope().Cipher.JSON(row.Kind, cipher.Payload, item.payload)
		}
		if err != nil {
			return fmt.Errorf("item %d: %w", i, err)
		}
		rows[i] = item.job.insert(row)
	}
	for _, item := range items {
		if err := item.job.mark(ctx, c); err != nil {
			return err
		}
	}
	subject := common(rows)
	err = c.scope().InsertWith(ctx, subject.Queue, true, func(ctx context.Context, q db.Querier) (inserted bool, err error) {
		list, err := c.inserter().InsertAll(ctx, q, rows)
		if err != nil {
			return false, err
		}
		for i, item := range list {
			receipts[i] = receiptOf(item)
		}
		return recordItems(ctx, q, author, core.Micros(now), subject, list)
	})
	if err != nil {
		return err
	}
	for i, item := range items {
		c.tellEnqueued(item.job, receipts[i])
	}
	return nil
}

// recordItems adds an entry to the audit log for the jobs that were added, one for the jobs that were replaced, and one for each running
// job that was asked to end. It reports whether any were added or replaced.
func recordItems(ctx context.Context, q db.Querier, author *audit.Author, now int64, subject audit.Entry, list []lifecycle.Inserted) (any bool, err error) {
	added, replaced := subject, subject
	replaced.Action = jobtype.ActionUpdate
	for _, item := range list {
		switch {
		case item.Dropped:
		case !item.Existed:
			added.JobIDs = append(added.JobIDs, item.ID)
		case item.Replaced:
			replaced.JobIDs = append(replaced.JobIDs, item.ID)
		}
		if err := recordCancelled(ctx, q, author, now, item); err != nil {
			return false, err
		}
	}
	if err := author.RecordMany(ctx, q, now, added); err != nil {
		return false, err
	}
	return len(added.JobIDs)+len(replaced.JobIDs) > 0, author.RecordMany(ctx, q, now, replaced)
}

// recordCancelled adds an entry to the audit log for a running job that an enqueue asked to end: see [UniqueReplaceRunning].
func recordCancelled(ctx context.Context, q db.Querier, author *audit.Author, now int64, item lifecycle.Inserted) error {
	if author == nil || item.Cancelled == 0 {
		return nil
	}
	subject, err := author.Subject(ctx, q, item.Cancelled)
	if err != nil {
		return err
	}
	return author.Record(ctx, q, now, audit.Entry{
		Action: jobtype.ActionCancel, JobID: item.Cancelled, Kind: subject.Kind, Queue: subject.Queue, Jobs: 1,
	})
}

// common returns the audit log's description of all rows: the kind and the queue if they share them.
func common(rows []lifecycle.Row) audit.Entry {
	entry := audit.Entry{Action: jobtype.ActionEnqueue, Kind: rows[0].Kind, Queue: rows[0].Queue}
	for _, row := range rows {
		if row.Kind != entry.Kind {
			entry.Kind = ""
		}
		if row.Queue != entry.Queue {
			entry.Queue = ""
		}
	}
	return entry
}
