package guides_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

// bucket answers 429 to calls beyond five a second, after a burst of five.
type bucket struct {
	mu      sync.Mutex
	tokens  float64
	last    time.Time
	refused int
}

func (b *bucket) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	b.tokens, b.last = min(5, b.tokens+5*now.Sub(b.last).Seconds()), now
	if b.tokens < 1 {
		b.refused++
		w.WriteHeader(http.StatusTooManyRequests)
		return
	}
	b.tokens--
}

// docs/limits.md
func Example_limitOfAnAPI() {
	ctx := context.Background()
	_, client, done := openShop(ctx)
	defer done()
	limit := &bucket{tokens: 5, last: time.Now()}
	api := httptest.NewServer(limit)
	defer api.Close()

	type Call struct{ N int }
	var CallAPI = jobs.Kind[Call]{Name: "call_api", Limit: jobs.Limit[Call]{
		Rate: jobs.Per(5, time.Second), // the API takes 5 calls a second, and up to 5 at one time
	}}

	runner := newRunner(client)
	CallAPI.Handle(runner, func(ctx context.Context, _ jobs.Job, _ Call) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, api.URL, nil)
		if err != nil {
			return err
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		if answer.StatusCode == http.StatusTooManyRequests {
			return jobs.Throttle(time.Second) // no job of the key starts before that, and no attempt counts
		}
		return nil
	})
	_, err := CallAPI.EnqueueMany(ctx, client, make([]Call, 41))
	check(err)
	check(runner.Drain(ctx))
	fmt.Println("refused calls:", limit.refused)
	// Output: refused calls: 0
}
