package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"

	"github.com/sqluice/sqluice/jobs"
)

var ownTransactionTests = []test{
	{"Committed", testOwnCommitted},
	{"NotCommitted", testOwnNotCommitted},
	{"OuterClient", testOwnOuterClient},
	{"Nested", testOwnNested},
	{"EndOfContext", testOwnEndOfContext},
	{"LateReturn", testOwnLateReturn},
}

// addTwo enqueues two jobs.
func addTwo(ctx context.Context, tx *jobs.Client) (ids []int64, err error) {
	for range 2 {
		receipt, err := tx.Enqueue(ctx, "k", json.RawMessage("{}"))
		if err != nil {
			return nil, err
		}
		ids = append(ids, receipt.ID)
	}
	return ids, nil
}

func testOwnCommitted(f *fixture) {
	ran := make(chan int64, 2)
	f.start(jobs.Config{}, on("k", func(_ context.Context, job jobs.Job) error {
		ran <- job.ID
		return nil
	}))
	var ids []int64
	f.must(f.client.Tx(f.ctx, func(ctx context.Context, tx *jobs.Client) (err error) {
		if ids, err = addTwo(ctx, tx); err != nil {
			return err
		}
		_, err = tx.Get(ctx, ids[0]) // it sees its own writes
		return err
	}))
	for range ids {
		receive(f, "a job of the transaction", ran)
	}
}

// The work of fn is undone when it returns an error, panics or calls runtime.Goexit.
func testOwnNotCommitted(f *fixture) {
	refused := errors.New("refused")
	for name, end := range map[string]func() error{
		"error":  func() error { return refused },
		"panic":  func() error { panic("refused") },
		"Goexit": func() error { runtime.Goexit(); return nil },
	} {
		var ids []int64
		done := make(chan error)
		go func() {
			var err error
			defer func() {
				if p := recover(); p != nil && name != "panic" {
					f.Errorf("%s: a panic: %v", name, p)
				}
				done <- err
			}()
			err = f.client.Tx(f.ctx, func(ctx context.Context, tx *jobs.Client) (err error) {
				if ids, err = addTwo(ctx, tx); err != nil {
					return err
				}
				return end()
			})
		}()
		if err := receive(f, "the end by "+name, done); name == "error" && err != refused { // that error itself
			f.Errorf("%s: Tx returns %v", name, err)
		}
		want(f, name+": jobs added before", len(ids), 2)
		for _, id := range ids {
			if _, err := f.client.Get(f.ctx, id); !errors.Is(err, jobs.ErrNotFound) {
				f.Errorf("%s: the job is there: %v", name, err)
			}
		}
		f.enqueue("k") // nothing holds a lock any more
	}
}

// The client outside would wait for the transaction that waits for it: it is refused at once.
func testOwnOuterClient(f *fixture) {
	f.must(f.client.Tx(f.ctx, func(ctx context.Context, tx *jobs.Client) error {
		id, err := addTwo(ctx, tx)
		if err != nil {
			return err
		}
		for name, call := range map[string]func() error{
			"Enqueue": func() error { _, err := f.client.Enqueue(ctx, "k", json.RawMessage("{}")); return err },
			"EnqueueMany": func() error {
				_, err := f.client.EnqueueMany(ctx, "k", []json.RawMessage{json.RawMessage("{}")})
				return err
			},
			"with a key": func() error {
				_, err := f.client.Enqueue(ctx, "k", json.RawMessage("{}"), jobs.Unique("u"))
				return err
			},
			"Get":    func() error { _, err := f.client.Get(ctx, id[0]); return err },
			"Cancel": func() error { _, err := f.client.Cancel(ctx, id[0]); return err },
			"Tx":     func() error { return f.client.Tx(ctx, func(context.Context, *jobs.Client) error { return nil }) },
		} {
			if err := call(); err == nil || errors.Is(err, jobs.ErrBusy) {
				f.Errorf("%s outside the transaction gives %v", name, err)
			}
		}
		return nil
	}))
}

// A transaction within one is a part of it, and is undone by itself.
func testOwnNested(f *fixture) {
	var kept, undone []int64
	f.must(f.client.Tx(f.ctx, func(ctx context.Context, tx *jobs.Client) (err error) {
		if kept, err = addTwo(ctx, tx); err != nil {
			return err
		}
		refused := errors.New("refused")
		err = tx.Tx(ctx, func(ctx context.Context, part *jobs.Client) (err error) {
			if undone, err = addTwo(ctx, part); err != nil {
				return err
			}
			return refused
		})
		if !errors.Is(err, refused) {
			return err
		}
		return nil
	}))
	for _, id := range kept {
		f.get(id)
	}
	for _, id := range undone {
		if _, err := f.client.Get(f.ctx, id); !errors.Is(err, jobs.ErrNotFound) {
			f.Errorf("the part that was undone is there: %v", err)
		}
	}
}

func testOwnEndOfContext(f *fixture) {
	ctx, cancel := context.WithCancel(f.ctx)
	var ids []int64
	err := f.client.Tx(ctx, func(ctx context.Context, tx *jobs.Client) (err error) {
		ids, err = addTwo(ctx, tx)
		cancel()
		return errors.Join(err, ctx.Err())
	})
	if !errors.Is(err, context.Canceled) {
		f.Errorf("Tx returns %v", err)
	}
	if _, err := f.client.Get(f.ctx, ids[0]); !errors.Is(err, jobs.ErrNotFound) {
		f.Errorf("the job is there: %v", err)
	}
	f.enqueue("k")
}

// A function that does not see that its time is over commits nothing, in a part of a transaction neither.
func testOwnLateReturn(f *fixture) {
	over := errors.New("over")
	late := func(client *jobs.Client) (id int64, err error) {
		ctx, cancel := context.WithCancelCause(f.ctx)
		err = client.Tx(ctx, func(ctx context.Context, tx *jobs.Client) error {
			ids, err := addTwo(ctx, tx)
			if err == nil {
				id = ids[0]
				cancel(over)
			}
			return err
		})
		return id, err
	}
	check := func(what string, id int64, err error) {
		if !errors.Is(err, context.Canceled) || !errors.Is(err, over) {
			f.Errorf("%s: Tx returns %v", what, err)
		}
		if _, err := f.client.Get(f.ctx, id); !errors.Is(err, jobs.ErrNotFound) {
			f.Errorf("%s: the job is there: %v", what, err)
		}
	}
	id, err := late(f.client)
	check("alone", id, err)
	var inner error
	f.must(f.client.Tx(f.ctx, func(_ context.Context, tx *jobs.Client) error {
		id, inner = late(tx)
		return nil
	}))
	check("inside another", id, inner)
}
