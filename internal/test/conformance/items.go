package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// itemTests cover enqueues of jobs of several kinds and options in one transaction.
var itemTests = []test{
	{"EachHasItsOwn", testItems},
	{"AllOrNone", testItemsAllOrNone},
	{"Keys", testItemsKeys},
	{"Middleware", testItemsMiddleware},
	{"SameKeysInTwoOrders", testItemsInTwoOrders},
}

func testItems(f *fixture) {
	typed := jobs.Kind[int]{Name: "typed", Queue: "q", Priority: 3}
	var items []jobs.Item
	for i := range 2500 { // more than one statement's worth
		items = append(items, typed.Item(i))
	}
	items = append(items, jobs.NewItem("other", json.RawMessage(`"a"`), jobs.Tags("t")), typed.Item(-1, jobs.Priority(9)), typed.Item(-2))
	receipts, err := f.client.EnqueueItems(f.as("me"), items)
	f.must(err)
	want(f, "receipts", len(receipts), len(items))
	for i, receipt := range receipts {
		if i > 3 && i < 2497 {
			continue
		}
		job := f.get(receipt.ID)
		text := fmt.Sprintln(job.Kind, job.Queue, job.Priority, string(job.Payload), job.Tags)
		wanted := fmt.Sprintln("typed", "q", 3, i, []string(nil))
		switch i {
		case 2500:
			wanted = fmt.Sprintln("other", "default", 0, `"a"`, []string{"t"})
		case 2501:
			wanted = fmt.Sprintln("typed", "q", 9, -1, []string(nil))
		case 2502:
			wanted = fmt.Sprintln("typed", "q", 3, -2, []string(nil))
		}
		want(f, fmt.Sprint("item ", i), text, wanted)
	}
	log := f.audit(inspect.AuditFilter{})
	if len(log) != 1 || log[0].Jobs != 2503 || log[0].Kind != "" || log[0].Action != inspect.ActionEnqueue {
		f.Errorf("the audit log is %+v", log)
	}
	ran := 0
	f.drain(jobs.Config{Queues: map[string]int{"q": 1, "default": 1}}, on("typed", func(context.Context, jobs.Job) error { ran++; return nil }),
		on("other", nothing))
	want(f, "jobs that ran", ran, 2502)
	receipts, err = f.client.EnqueueItems(f.ctx, nil)
	if err != nil || len(receipts) != 0 {
		f.Errorf("no items give %v, %v", receipts, err)
	}
}

func testItemsAllOrNone(f *fixture) {
	good := jobs.NewItem("k", json.RawMessage("1"))
	for text, bad := range map[string]jobs.Item{
		"item 1: payload":        jobs.NewItem("k", json.RawMessage("{")),
		"item 1: kind":           jobs.NewItem("", json.RawMessage("1")),
		"item 1: encode payload": jobs.Kind[func()]{Name: "k"}.Item(func() {}),
		"item 1 must be made":    {},
		"item 1: priority":       jobs.NewItem("k", json.RawMessage("1"), jobs.Priority(1<<20)),
	} {
		if _, err := f.client.EnqueueItems(f.ctx, []jobs.Item{good, bad, good}); err == nil || !strings.Contains(err.Error(), text) {
			f.Errorf("an item with a fault: %v, which does not have %q", err, text)
		}
	}
	undone := errors.New("undone")
	err := f.client.Tx(f.ctx, func(ctx context.Context, tx *jobs.Client) error {
		if _, err := tx.EnqueueItems(ctx, []jobs.Item{good, good}); err != nil {
			return err
		}
		return undone
	})
	if !errors.Is(err, undone) {
		f.Fatal(err)
	}
	want(f, "jobs", f.statuses()[jobs.StatusPending], 0)
}

func testItemsKeys(f *fixture) {
	item := func(opts ...jobs.EnqueueOption) jobs.Item { return jobs.NewItem("k", json.RawMessage("1"), opts...) }
	there := f.enqueue("k", jobs.Unique("there"))
	receipts, err := f.client.EnqueueItems(f.ctx, []jobs.Item{
		item(jobs.Unique("there")), item(jobs.Unique("new")), item(), item(jobs.Unique("new")), item(jobs.RequestID("r")), item(jobs.RequestID("r")),
	})
	f.must(err)
	if receipts[0] != (jobs.Receipt{ID: there, Existed: true}) || receipts[1].Existed || receipts[2].Existed || receipts[4].Existed ||
		receipts[3] != (jobs.Receipt{ID: receipts[1].ID, Existed: true}) || receipts[5] != (jobs.Receipt{ID: receipts[4].ID, Existed: true}) {
		f.Errorf("the receipts are %+v", receipts)
	}
	want(f, "jobs", f.statuses()[jobs.StatusPending], 4)
}

func testItemsMiddleware(f *fixture) {
	var seen []string
	client := jobs.New(f.store, jobs.WithMiddleware(func(next jobs.EnqueueFunc) jobs.EnqueueFunc {
		return func(ctx context.Context, r *jobs.EnqueueRequest) error {
			r.Set(jobs.UserID("u" + r.Job().Kind))
			err := next(ctx, r)
			seen = append(seen, fmt.Sprint(r.Job().Kind, r.IDs(), r.Existed(), r.Len()))
			return err
		}
	}))
	items := []jobs.Item{jobs.NewItem("a", json.RawMessage("1")), jobs.NewItem("b", json.RawMessage("2"))}
	receipts, err := client.EnqueueItems(f.ctx, items)
	f.must(err)
	plain, err := f.client.EnqueueItems(f.ctx, items)
	f.must(err)
	want(f, "what it has set of the items themselves", f.get(plain[0].ID).UserID, "")
	want(f, "what the middleware saw", fmt.Sprint(seen), fmt.Sprintf("[b[%d] false 1 a[%d] false 1]", receipts[1].ID, receipts[0].ID))
	want(f, "what it has set", f.get(receipts[1].ID).UserID, "ub")
}

// Callers whose items have the same keys, in whatever order, get the same jobs, and none fails.
func testItemsInTwoOrders(f *fixture) {
	for round := range 5 {
		var orders [2][]jobs.Item
		for i := range 50 {
			item := jobs.NewItem("k", json.RawMessage("1"), jobs.Unique(fmt.Sprint(round, " ", i)))
			orders[0], orders[1] = append(orders[0], item), append([]jobs.Item{item}, orders[1]...)
		}
		ids := make(chan map[int64]bool, 4)
		for i := range cap(ids) {
			client := f.elsewhere()
			go func() {
				receipts, err := client.EnqueueItems(f.ctx, orders[i%2])
				if err != nil {
					f.Errorf("round %d: %v", round, err)
				}
				have := map[int64]bool{}
				for _, r := range receipts {
					have[r.ID] = true
				}
				ids <- have
			}()
		}
		all := map[int64]bool{}
		for range cap(ids) {
			maps.Copy(all, receive(f, "the receipts", ids))
		}
		want(f, "jobs", len(all), 50)
	}
}
