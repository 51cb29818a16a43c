package guides_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

// docs/limits.md
func Example_limits() {
	ctx := context.Background()
	_, client, done := openShop(ctx)
	defer done()

	type Card struct{ Tenant string }
	var Charge = jobs.Kind[Card]{Name: "charge", Limit: jobs.Limit[Card]{
		Key:     func(c Card) string { return c.Tenant },
		Running: 2,                           // at most two of a tenant at once
		Rate:    jobs.Per(1000, time.Second), // and a thousand starts a second
		Burst:   10,                          // ten of them at one time after a pause
	}}

	runner := newRunner(client)
	var mu sync.Mutex
	running, most := map[string]int{}, 0
	Charge.Handle(runner, func(_ context.Context, _ jobs.Job, card Card) error {
		mu.Lock()
		running[card.Tenant]++
		most = max(most, running[card.Tenant])
		mu.Unlock()
		defer func() {
			mu.Lock()
			running[card.Tenant]--
			mu.Unlock()
		}()
		return nil
	})
	cards := make([]Card, 40)
	for i := range cards {
		cards[i].Tenant = fmt.Sprint("tenant ", i%4)
	}
	_, err := Charge.EnqueueMany(ctx, client, cards)
	check(err)
	check(runner.Drain(ctx))
	fmt.Println("never more than two of a tenant:", most <= 2)

	check(client.SetLimit(ctx, "charge", "acme", jobs.LimitValues{Running: 10})) // for one tenant, until it is deleted
	limits, err := client.Limits(ctx)
	check(err)
	for _, limit := range limits {
		fmt.Printf("%s %q: %d at once\n", limit.Kind, limit.Key, limit.Running)
	}
	// Output:
	// never more than two of a tenant: true
	// charge "": 2 at once
	// charge "acme": 10 at once
}

// docs/limits.md
func Example_throttle() {
	ctx := context.Background()
	_, client, done := openShop(ctx)
	defer done()
	var refusals int
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if refusals++; refusals == 1 {
			http.Error(w, "too many requests", http.StatusTooManyRequests)
		}
	}))
	defer api.Close()

	type Message struct{ Text string }
	var Notify = jobs.Kind[Message]{Name: "notify", Limit: jobs.Limit[Message]{Running: 1}}

	runner := newRunner(client)
	Notify.Handle(runner, func(ctx context.Context, _ jobs.Job, m Message) error {
		answer, err := http.Get(api.URL)
		if err != nil {
			return err
		}
		if err := answer.Body.Close(); err != nil {
			return err
		}
		if answer.StatusCode == http.StatusTooManyRequests {
			return jobs.Throttle(100 * time.Millisecond) // no job of the key starts before that, and no attempt counts
		}
		if answer.StatusCode != http.StatusOK {
			return errors.New(answer.Status)
		}
		return nil
	})
	receipt, err := Notify.Enqueue(ctx, client, Message{"hello"})
	check(err)
	check(runner.Drain(ctx))
	job, err := client.Get(ctx, receipt.ID)
	check(err)
	fmt.Println(job.Status, "after", job.Counted(), "attempt that counts")
	// Output: done after 1 attempt that counts
}
