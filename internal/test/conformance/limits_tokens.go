package conformance

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

var tokenTests = []test{
	{"RateInEveryWindow", testTokensRate},
	{"SharedWithJobs", testTokensShared},
	{"AfterAThrottle", testTokensThrottled},
	{"AChangedLimit", testTokensChanged},
	{"WithoutARate", testTokensUnbounded},
	{"Refused", testTokensRefused},
}

// Several goroutines and clients take tokens: in any time at most as many as the rate gives, and a burst.
func testTokensRate(f *fixture) {
	const burst, per, callers, calls = 4, 3 * time.Millisecond, 6, 16
	f.must(f.client.SetLimit(f.ctx, "api", "", jobs.LimitValues{Rate: jobs.Per(1, per), Burst: burst}))
	type taken struct {
		n           int
		began, done time.Time
	}
	clients := []*jobs.Client{f.client, f.elsewhere(), f.elsewhere()}
	var mu sync.Mutex
	var list []taken
	var group sync.WaitGroup
	for caller := range callers {
		group.Go(func() {
			for call := range calls {
				n := 1 + (caller+call)%burst
				began := f.store.Now()
				if err := clients[caller%len(clients)].Limit("api").Take(f.ctx, n); err != nil {
					f.Error(err)
					return
				}
				mu.Lock()
				list = append(list, taken{n, began, f.store.Now()})
				mu.Unlock()
			}
		})
	}
	group.Wait()
	want(f, "calls", len(list), callers*calls)
	for _, first := range list {
		for _, last := range list {
			window, tokens := last.done.Sub(first.began), 0
			for _, one := range list { // a call takes its tokens between its beginning and its return
				if !one.began.Before(first.began) && !one.done.After(last.done) {
					tokens += one.n
				}
			}
			if most := int(window/per) + burst; tokens > 0 && tokens > most {
				f.Fatalf("%d tokens in %s, at most %d", tokens, window, most)
			}
		}
	}
}

// Jobs of the kind without a key of their own spend the same tokens. A key has its own.
func testTokensShared(f *fixture) {
	kind := jobs.Kind[int]{Name: "k", Limit: jobs.Limit[int]{Rate: jobs.Per(1, time.Hour), Burst: 3}}
	ran := make(chan int64, 10)
	f.start(jobs.Config{}, func(r *jobs.Runner) {
		kind.Handle(r, func(_ context.Context, job jobs.Job, _ int) error {
			ran <- job.ID
			return nil
		})
	})
	receipts, err := kind.EnqueueMany(f.ctx, f.client, []int{1})
	f.must(err)
	want(f, "the first job", receive(f, "the first job", ran), receipts[0].ID)
	f.must(f.client.Limit("k").Take(f.ctx, 2))
	receipts, err = kind.EnqueueMany(f.ctx, f.client, []int{2})
	f.must(err)
	f.becomes(receipts[0].ID, jobs.StatusWaiting)
	f.wantNoTokens("k")
	f.must(f.client.SetLimit(f.ctx, "k", "", jobs.LimitValues{Rate: jobs.Per(1, time.Hour), Burst: 5})) // two more tokens
	want(f, "the second job", receive(f, "the second job", ran), receipts[0].ID)
	f.must(f.client.Limit("k").Take(f.ctx, 1))
	f.wantNoTokens("k")
	other, err := kind.Enqueue(f.ctx, f.client, 3, jobs.LimitKey("other"))
	f.must(err)
	want(f, "the job of another key", receive(f, "the job of another key", ran), other.ID)
}

// wantNoTokens checks that no token of a limit is there.
func (f *fixture) wantNoTokens(kind string) {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.ctx, 20*time.Millisecond)
	defer cancel()
	if err := f.client.Limit(kind).Take(ctx, 1); !errors.Is(err, context.DeadlineExceeded) {
		f.Errorf("a token that is not there: %v", err)
	}
}

// A throttled key gives no token, with and without a rate.
func testTokensThrottled(f *fixture) {
	const closed = 200 * time.Millisecond
	for kind, values := range map[string]jobs.LimitValues{"running": {Running: 1}, "rate": {Rate: jobs.Per(1000, time.Second), Burst: 10}} {
		f.must(f.client.SetLimit(f.ctx, kind, "", values))
		id, ended := f.enqueue(kind, jobs.LimitKey("")), make(chan time.Time, 1)
		f.start(jobs.Config{}, on(kind, func(_ context.Context, job jobs.Job) error {
			if job.Attempt == 1 {
				ended <- f.store.Now()
				return jobs.Throttle(closed)
			}
			return nil
		}))
		end := receive(f, "the end of the job", ended).Add(closed)
		f.eventually("the job has been throttled", func() bool { return f.get(id).Uncounted == 1 })
		f.must(f.client.Limit(kind).Take(f.ctx, 1))
		if now := f.store.Now(); now.Before(end) {
			f.Errorf("a token of %s comes %s before the key is open again", kind, end.Sub(now))
		}
	}
}

// A call that waits obeys a changed limit.
func testTokensChanged(f *fixture) {
	rate := jobs.Per(1, 24*time.Hour)
	f.must(f.client.SetLimit(f.ctx, "k", "", jobs.LimitValues{Rate: rate}))
	f.must(f.client.Limit("k").Take(f.ctx, 1))
	done := make(chan error, 2)
	for range 2 {
		go func() { done <- f.client.Limit("k").Take(f.ctx, 1) }()
	}
	f.wantNoTokens("k")
	f.must(f.client.SetLimit(f.ctx, "k", "", jobs.LimitValues{Rate: rate, Burst: 2}))
	f.must(receive(f, "the first call", done))
	_, err := f.client.DeleteLimit(f.ctx, "k", "")
	f.must(err)
	f.must(receive(f, "the second call", done))
}

// Without a rate, and without a limit, any number of tokens is there.
func testTokensUnbounded(f *fixture) {
	f.must(f.client.Limit("k").Take(f.ctx, 1000))
	f.must(f.client.SetLimit(f.ctx, "k", "", jobs.LimitValues{Running: 1}))
	for range 3 {
		f.must(f.client.Limit("k").Take(f.ctx, 1000))
	}
	f.must(f.client.SetLimit(f.ctx, "k", "other", jobs.LimitValues{Rate: jobs.Per(1, time.Hour)}))
	f.must(f.client.Limit("k").Take(f.ctx, 1000))
}

// More tokens than a burst are refused, and none in a transaction.
func testTokensRefused(f *fixture) {
	limit := f.client.Limit("k")
	wantInvalid(f, "number of tokens", limit.Take(f.ctx, 0))
	wantInvalid(f, "kind", f.client.Limit("").Take(f.ctx, 1))
	f.must(f.client.SetLimit(f.ctx, "k", "", jobs.LimitValues{Rate: jobs.Per(1, time.Hour)}))
	wantInvalid(f, "number of tokens", limit.Take(f.ctx, 2))
	f.must(f.client.SetLimit(f.ctx, "k", "", jobs.LimitValues{Rate: jobs.Per(1, time.Hour), Burst: 5}))
	wantInvalid(f, "number of tokens", limit.Take(f.ctx, 6))
	f.must(limit.Take(f.ctx, 5))
	f.must(f.client.Tx(f.ctx, func(ctx context.Context, tx *jobs.Client) error {
		wantInvalid(f, "client", tx.Limit("k").Take(ctx, 1))
		return nil
	}))
}
