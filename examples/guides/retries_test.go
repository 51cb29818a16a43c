package guides_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// Payment is the payload of a job that charges a customer.
type Payment struct {
	Order int64
	Cents int
}

var Charge = jobs.Kind[Payment]{
	Name:        "charge",
	MaxAttempts: 8,
	Timeout:     30 * time.Second,
	RetryDelay:  jobs.ExponentialRetry(time.Second, time.Hour), // 1 s, 2 s, 4 s ... an hour
}

// charge returns a handler that calls a bank.
func charge(bank string) jobs.Handler[Payment] {
	return func(ctx context.Context, job jobs.Job, args Payment) error {
		body := strings.NewReader(strconv.Itoa(args.Cents))
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, bank, body)
		if err != nil {
			return err
		}
		request.Header.Set("Idempotency-Key", "charge-"+job.IdempotencyKey())
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err // another attempt, after RetryDelay
		}
		defer response.Body.Close()
		switch response.StatusCode {
		case http.StatusOK:
			return nil
		case http.StatusTooManyRequests:
			return jobs.SnoozeBecause(time.Minute, errors.New("too many requests")) // not now: no attempt counts
		case http.StatusPaymentRequired:
			return jobs.Discard(errors.New("the card was refused")) // failed: no other attempt can help
		case http.StatusServiceUnavailable:
			return jobs.RetryIn(10*time.Minute, errors.New("the bank is closed"))
		}
		return errors.New("the bank says " + response.Status)
	}
}

func Example_retries() {
	ctx := context.Background()
	_, client, done := openShop(ctx)
	defer done()
	for _, status := range []int{http.StatusOK, http.StatusTooManyRequests, http.StatusPaymentRequired, http.StatusServiceUnavailable, http.StatusTeapot} {
		bank := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(status) }))
		receipt, err := Charge.Enqueue(ctx, client, Payment{Order: 7, Cents: 500}, jobs.RequestID("order-7-"+strconv.Itoa(status)))
		check(err)
		runner := newRunner(client)
		Charge.Handle(runner, charge(bank.URL))
		check(runner.Drain(ctx))
		bank.Close()
		job, err := client.Get(ctx, receipt.ID)
		check(err)
		fmt.Printf("%s, %d attempts count, %q\n", job.Status, job.Counted(), job.LastError)
	}
	changed, err := inspect.New(client).RetryFailed(ctx, inspect.FailedFilter{Kind: "charge"})
	check(err)
	fmt.Println(changed, "retried")
	// Output:
	// done, 1 attempts count, ""
	// scheduled, 0 attempts count, ""
	// failed, 1 attempts count, "the card was refused"
	// scheduled, 1 attempts count, "the bank is closed"
	// scheduled, 1 attempts count, "the bank says 418 I'm a teapot"
	// 1 retried
}

// A request that arrives twice adds one job.
func Example_requestID() {
	ctx := context.Background()
	_, client, done := openShop(ctx)
	defer done()
	for range 2 {
		receipt, err := Charge.Enqueue(ctx, client, Payment{Order: 7, Cents: 500}, jobs.RequestID("order-7"))
		check(err)
		fmt.Println(receipt.ID, receipt.Existed)
	}
	// Output:
	// 1 false
	// 1 true
}
