package conformance

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// uniqueModeTests cover enqueues whose unique key is taken.
var uniqueModeTests = []test{
	{"Replace", testUniqueReplace},
	{"ReplaceKeepsARunningJob", testUniqueReplaceRunning},
	{"ReplaceStartsAnew", testUniqueReplaceStartsAnew},
	{"ReplaceStartsAnewAtATime", testUniqueReplaceAnewAtATime},
	{"Again", testUniqueAgain},
	{"AgainWaitsForRetries", testUniqueAgainRetried},
	{"AgainAfterEveryEnd", testUniqueAgainEnds},
	{"AgainAfterACallersEnd", testUniqueAgainEndedByCaller},
	{"AgainWhenTheFirstIsRetriedAtOnce", testUniqueAgainFirstRetried},
	{"AgainAfterACrash", testUniqueAgainCrash},
	{"AgainByTheHandler", testUniqueAgainByHandler},
	{"ReplaceRunning", testUniqueSupersede},
	{"ReplaceRunningWhileItWaits", testUniqueSupersedeWaiting},
	{"ReplaceRunningThatEndsWell", testUniqueSupersedeDone},
	{"ReplaceRunningBesideASuccessor", testUniqueSupersedeSuccessor},
	{"ReplaceRunningAfterACrash", testUniqueSupersedeCrash},
	{"ReplaceRunningHammered", testUniqueSupersedeHammered},
	{"SuccessorIsChanged", testSuccessorChanged},
	{"SuccessorIsFound", testSuccessorFound},
	{"SuccessorExpires", testSuccessorExpires},
	{"Debounce", testDebounce},
	{"DebounceAtMost", testDebounceAtMost},
	{"DebounceDuringARun", testDebounceRunning},
	{"DebounceThatWaited", testDebounceWaited},
	{"ForAPeriod", testUniqueFor},
	{"ForAPeriodInATransaction", testUniqueForTx},
	{"Items", testUniqueModeItems},
	{"ALoserWinsWhenTheWinnerRollsBack", testUniqueModesRollback},
	{"Hammered", testUniqueModesHammered},
	{"Invalid", testUniqueModesInvalid},
}

// put enqueues a job with a number as its payload.
func (f *fixture) put(n int, opts ...jobs.EnqueueOption) jobs.Receipt {
	f.Helper()
	receipt, err := f.client.Enqueue(f.ctx, "k", fmt.Append(nil, n), opts...)
	f.must(err)
	return receipt
}

// attempts notes the payloads of jobs in the order in which they begin, and that no two run at once.
type attempts struct {
	mu      sync.Mutex
	f       *fixture
	running int
	list    []string
}

func (a *attempts) begin(job jobs.Job) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.running++; a.running > 1 {
		a.f.Error("two jobs with one unique key run at once")
	}
	a.list = append(a.list, string(job.Payload))
}

func (a *attempts) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.running--
}

func (a *attempts) text() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return fmt.Sprint(a.list)
}

// held returns a handler that waits for a value of goOn.
func (a *attempts) held(begun chan<- int64, goOn <-chan error) func(context.Context, jobs.Job) error {
	return func(ctx context.Context, job jobs.Job) error {
		a.begin(job)
		defer a.end()
		begun <- job.ID
		select {
		case err := <-goOn:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func testUniqueReplace(f *fixture) {
	at := f.store.Now().Add(time.Hour).Truncate(time.Second)
	first := f.put(1, jobs.UniqueReplace("u"), jobs.At(at), jobs.Tags("old"), jobs.RequestID("r"))
	want(f, "first receipt", first, jobs.Receipt{ID: first.ID})
	receipt, err := f.client.Enqueue(f.as("me"), "k", json.RawMessage("2"), jobs.UniqueReplace("u"), jobs.Priority(7), jobs.Queue("q"),
		jobs.MaxAttempts(3), jobs.Timeout(time.Minute), jobs.UserID("ann"), jobs.Metadata("m"))
	f.must(err)
	want(f, "receipt", receipt, jobs.Receipt{ID: first.ID, Existed: true, Replaced: true})
	job := f.get(first.ID)
	want(f, "the job", fmt.Sprintln(string(job.Payload), job.Priority, job.Queue, job.MaxAttempts, job.Timeout, job.UserID, job.Tags, string(job.Metadata), job.RequestID, job.Status),
		fmt.Sprintln("2", 7, "q", 3, time.Minute, "ann", []string(nil), `"m"`, "r", "scheduled"))
	if !job.RunAfter.Equal(at) {
		f.Errorf("the job is due at %v, not %v", job.RunAfter, at)
	}
	log := f.audit(inspect.AuditFilter{})
	if len(log) != 1 || log[0].Action != inspect.ActionUpdate || log[0].JobID != first.ID || log[0].Actor != "me" {
		f.Errorf("the audit log is %+v", log)
	}
	want(f, "receipt of Unique", f.put(3, jobs.Unique("u")), jobs.Receipt{ID: first.ID, Existed: true})
	want(f, "payload after Unique", string(f.get(first.ID).Payload), "2")
	f.must(f.client.Delete(f.ctx, first.ID))

	// A time to start by counts from the time that the job keeps.
	later := f.put(1, jobs.UniqueReplace("v"), jobs.At(at))
	f.put(2, jobs.UniqueReplace("v"), jobs.StartWithin(time.Minute))
	if job := f.get(later.ID); job.StartBy.Sub(at) != time.Minute {
		f.Errorf("the job is due at %v and must start by %v", at, job.StartBy)
	}
	_, err = f.client.Enqueue(f.ctx, "k", json.RawMessage("3"), jobs.UniqueReplace("v"), jobs.StartBy(at.Add(-time.Minute)))
	wantInvalid(f, "a time to start by before the time that the job keeps", err)
	want(f, "payload", string(f.get(later.ID).Payload), "2")
	f.must(f.client.Delete(f.ctx, later.ID))

	due := f.put(1, jobs.UniqueReplace("u")) // one that is pending keeps being due, also with another place in its queue
	f.put(2, jobs.UniqueReplace("u"), jobs.Priority(1))
	ran := ""
	f.drain(jobs.Config{}, on("k", func(_ context.Context, job jobs.Job) error { ran += string(job.Payload); return nil }))
	want(f, "payloads that ran", ran, "2")
	want(f, "status", f.get(due.ID).Status, jobs.StatusDone)
}

func testUniqueReplaceRunning(f *fixture) {
	a, begun, goOn := &attempts{f: f}, make(chan int64, 1), make(chan error, 1)
	first := f.put(1, jobs.UniqueReplace("u"))
	f.start(jobs.Config{}, on("k", a.held(begun, goOn)))
	receive(f, "the start", begun)
	want(f, "receipt", f.put(2, jobs.UniqueReplace("u")), jobs.Receipt{ID: first.ID, Existed: true})
	goOn <- nil
	want(f, "payload", string(f.ended(first.ID).Payload), "1")
}

// A job that has used up attempts with its old payload has all of them with the new one, and is due at once.
func testUniqueReplaceStartsAnew(f *fixture) {
	for name, option := range map[string]jobs.EnqueueOption{
		"replace": jobs.UniqueReplace("u"), "again": jobs.UniqueAgain("u"), "debounce": jobs.Debounce("u", time.Microsecond, jobs.AtMost(time.Microsecond)),
	} {
		var mu sync.Mutex
		var seen []string
		handler := on("k", func(ctx context.Context, job jobs.Job) error {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, fmt.Sprint(string(job.Payload), " ", job.Counted(), " of ", job.MaxAttempts))
			if string(job.Payload) == "1" {
				return cmp.Or(job.SetProgress(ctx, "half"), jobs.RetryIn(time.Hour, errors.New("bad")))
			}
			return nil
		})
		first := f.put(1, option, jobs.MaxAttempts(3))
		f.eventually("it is due", func() bool { return !f.get(first.ID).RunAfter.After(f.store.Now()) })
		f.drain(jobs.Config{}, handler)
		f.must(f.client.Retry(f.ctx, first.ID))
		f.drain(jobs.Config{}, handler) // one attempt of three is used up, and another one does not count
		waits := f.get(first.ID)
		want(f, name+": attempts used up", waits.Counted(), 1)
		want(f, name+": receipt", f.put(2, option, jobs.MaxAttempts(3)), jobs.Receipt{ID: first.ID, Existed: true, Replaced: true})
		job := f.get(first.ID)
		want(f, name+": attempts used up with the new payload", job.Counted(), 0)
		want(f, name+": progress", string(job.Progress), "")
		want(f, name+": attempts", job.Attempt, 2)
		f.eventually("it is due", func() bool { return !f.get(first.ID).RunAfter.After(f.store.Now()) })
		f.drain(jobs.Config{}, handler)
		want(f, name+": what ran", fmt.Sprint(seen), "[1 1 of 3 1 1 of 3 2 1 of 3]")
		want(f, name+": status", f.get(first.ID).Status, jobs.StatusDone)
	}
}

// The options of the new enqueue say when a job that was attempted before is due.
func testUniqueReplaceAnewAtATime(f *fixture) {
	first := f.put(1, jobs.UniqueReplace("u"))
	f.drain(jobs.Config{}, on("k", func(context.Context, jobs.Job) error { return jobs.RetryIn(time.Hour, errors.New("bad")) }))
	at := f.store.Now().Add(2 * time.Hour).Truncate(time.Second)
	f.put(2, jobs.UniqueReplace("u"), jobs.At(at), jobs.StartWithin(time.Minute))
	job := f.get(first.ID)
	want(f, "due after the given time by", job.RunAfter.Sub(at), 0)
	want(f, "must start after it by", job.StartBy.Sub(at), time.Minute)
	want(f, "status", job.Status, jobs.StatusScheduled)
}

func testDebounce(f *fixture) {
	began := f.store.Now()
	first := f.put(1, jobs.Debounce("u", time.Hour), jobs.Metadata(map[string]int{"a": 1}))
	at := f.get(first.ID).RunAfter
	if at.Before(began.Add(time.Hour).Truncate(time.Microsecond)) {
		f.Errorf("the job is due at %v, %v after the enqueue", at, at.Sub(began))
	}
	want(f, "reason", f.why(first.ID).Reason, inspect.ReasonDebounced)
	want(f, "receipt", f.put(2, jobs.Debounce("u", 2*time.Hour)), jobs.Receipt{ID: first.ID, Existed: true, Replaced: true})
	job := f.get(first.ID)
	if job.RunAfter.Before(at.Add(time.Hour)) || string(job.Payload) != "2" || job.Status != jobs.StatusScheduled || job.Debounced().Quiet != 2*time.Hour {
		f.Errorf("the job became %+v", job)
	}
	f.put(3, jobs.Debounce("u", time.Millisecond)) // the quiet time of the newest counts
	a := &attempts{f: f}
	f.start(jobs.Config{}, on("k", func(_ context.Context, job jobs.Job) error { a.begin(job); a.end(); return nil }))
	f.ended(first.ID)
	want(f, "payloads that ran", a.text(), "[3]")
	if next := f.put(4, jobs.Debounce("u", time.Millisecond)); next.Existed {
		f.Error("a job that has ended was found")
	}
}

// Enqueues put a job off no longer than AtMost after the first of them.
func testDebounceAtMost(f *fixture) {
	first := f.put(1, jobs.Debounce("u", time.Hour, jobs.AtMost(time.Hour)))
	at := f.get(first.ID).RunAfter
	f.put(2, jobs.Debounce("u", 30*time.Minute, jobs.AtMost(time.Hour)))
	if job := f.get(first.ID); !job.RunAfter.Before(at) {
		f.Errorf("a shorter quiet time gives %v after %v", job.RunAfter, at)
	}
	f.put(3, jobs.Debounce("u", 50*time.Minute, jobs.AtMost(time.Hour)))
	f.put(4, jobs.Debounce("u", time.Hour, jobs.AtMost(time.Hour)))
	if job := f.get(first.ID); !job.RunAfter.Equal(at) || string(job.Payload) != "4" {
		f.Errorf("the last enqueue gives %v, not %v, and the payload %s", job.RunAfter, at, job.Payload)
	}
	if text := f.why(first.ID).Text; len(text) == 0 {
		f.Error("why says nothing")
	}
	// A bound that the newest enqueue gives, and that has passed, makes the job due.
	f.eventually("the bound has passed", func() bool { return f.store.Now().Sub(f.get(first.ID).CreatedAt) > time.Millisecond })
	f.put(5, jobs.Debounce("u", time.Millisecond, jobs.AtMost(time.Millisecond)))
	if job := f.get(first.ID); job.RunAfter.After(f.store.Now()) || string(job.Payload) != "5" {
		f.Errorf("after its bound the job is due at %v", job.RunAfter)
	}
}

// A debounced enqueue during a run adds one successor, which is debounced by itself.
func testDebounceRunning(f *fixture) {
	a, begun, goOn := &attempts{f: f}, make(chan int64, 1), make(chan error, 1)
	f.put(1, jobs.Debounce("u", time.Microsecond))
	f.start(jobs.Config{}, on("k", a.held(begun, goOn)))
	first := receive(f, "the start", begun)
	next := f.put(2, jobs.Debounce("u", time.Hour))
	at := f.get(next.ID).RunAfter
	want(f, "receipt", f.put(3, jobs.Debounce("u", 2*time.Hour)), jobs.Receipt{ID: next.ID, Existed: true, Replaced: true})
	job := f.get(next.ID)
	if !job.Successor || job.RunAfter.Before(at.Add(time.Hour)) {
		f.Errorf("the successor is due at %v after %v: %+v", job.RunAfter, at, job)
	}
	goOn <- nil
	f.ended(first)
	f.eventually("it is no successor", func() bool { return !f.get(next.ID).Successor })
	f.put(4, jobs.Debounce("u", time.Microsecond))
	want(f, "the next that runs", receive(f, "the second start", begun), next.ID)
	goOn <- nil
	f.ended(next.ID)
	want(f, "payloads that ran", a.text(), "[1 4]")
}

// A key that is taken for a time outlives its job's row, and the process.
func testUniqueFor(f *fixture) {
	first := f.put(1, jobs.UniqueFor("u", time.Hour))
	want(f, "receipt", f.put(2, jobs.UniqueFor("u", time.Hour)), jobs.Receipt{ID: first.ID, Existed: true})
	found, err := f.client.GetByUniqueKey(f.ctx, "k", "u")
	f.must(err)
	want(f, "the job by its key", found.ID, first.ID)
	f.must(f.client.Delete(f.ctx, first.ID))
	receipt, err := f.elsewhere().Enqueue(f.ctx, "k", json.RawMessage("3"), jobs.UniqueFor("u", time.Hour))
	f.must(err)
	want(f, "receipt of another process after the row is gone", receipt, jobs.Receipt{ID: first.ID, Existed: true})
	if _, err := f.client.GetByUniqueKey(f.ctx, "k", "u"); !errors.Is(err, jobs.ErrNotFound) {
		f.Errorf("a row that is gone is found: %v", err)
	}
	if other := f.put(4, jobs.Unique("u")); other.Existed { // the key is none of a job
		f.Error("Unique sees the key of a period")
	}
	_, err = f.client.Enqueue(f.ctx, "other", json.RawMessage("{}"), jobs.UniqueFor("u", time.Hour))
	f.must(err)

	short := f.put(5, jobs.UniqueFor("short", 20*time.Millisecond))
	f.eventually("the period is over", func() bool { return f.put(6, jobs.UniqueFor("short", time.Hour)).ID != short.ID })

	f.put(7, jobs.UniqueFor("gone", time.Microsecond))
	f.put(8, jobs.UniqueFor("gone", time.Microsecond))
	f.must(f.store.Write(f.ctx, func(ctx context.Context, q db.Querier) error {
		n, err := q.DeletePastUniqueKeys(ctx, db.DeletePastUniqueKeysParams{Now: f.store.Now().UnixMicro(), N: 10})
		want(f, "keys that are free again", n, 1)
		return err
	}))

	asked := f.put(9, jobs.UniqueFor("a", time.Hour), jobs.RequestID("r"))
	want(f, "receipt of the same request with another key", f.put(10, jobs.UniqueFor("b", time.Hour), jobs.RequestID("r")),
		jobs.Receipt{ID: asked.ID, Existed: true})
	if receipt := f.put(11, jobs.UniqueFor("b", time.Hour)); receipt.Existed {
		f.Error("a request that added nothing has taken the key")
	}
}

// A transaction that is rolled back has taken no key.
func testUniqueForTx(f *fixture) {
	undone := errors.New("undone")
	err := f.client.Tx(f.ctx, func(ctx context.Context, tx *jobs.Client) error {
		if _, err := tx.Enqueue(ctx, "k", json.RawMessage("1"), jobs.UniqueFor("u", time.Hour)); err != nil {
			return err
		}
		return undone
	})
	if !errors.Is(err, undone) {
		f.Error(err)
	}
	var receipt jobs.Receipt
	f.must(f.client.Tx(f.ctx, func(ctx context.Context, tx *jobs.Client) (err error) {
		receipt, err = tx.Enqueue(ctx, "k", json.RawMessage("2"), jobs.UniqueFor("u", time.Hour))
		return err
	}))
	if receipt.Existed {
		f.Error("a transaction that was rolled back has taken the key")
	}
	want(f, "payload", string(f.get(receipt.ID).Payload), "2")
}

// Many jobs in one transaction have a receipt each, by their own modes.
func testUniqueModeItems(f *fixture) {
	old := f.put(0, jobs.Unique("old"))
	item := func(n int, opts ...jobs.EnqueueOption) jobs.Item {
		return jobs.NewItem("k", fmt.Append(nil, n), opts...)
	}
	receipts, err := f.client.EnqueueItems(f.as("me"), []jobs.Item{
		item(1, jobs.UniqueReplace("old")), item(2, jobs.Debounce("d", time.Hour)), item(3), item(4, jobs.Debounce("d", time.Hour)),
		item(5, jobs.UniqueFor("p", time.Hour)), item(6, jobs.UniqueFor("p", time.Hour)), item(7, jobs.UniqueAgain("a")),
		item(8, jobs.UniqueReplace("w"), jobs.RequestID("z")), item(9, jobs.UniqueReplace("w"), jobs.RequestID("a")), // the last one wins
	})
	f.must(err)
	for i, r := range map[int]jobs.Receipt{
		0: {ID: old.ID, Existed: true, Replaced: true}, 3: {ID: receipts[1].ID, Existed: true, Replaced: true},
		5: {ID: receipts[4].ID, Existed: true}, 6: {ID: receipts[6].ID},
	} {
		want(f, fmt.Sprint("receipt ", i), receipts[i], r)
	}
	want(f, "payload of the replaced", string(f.get(old.ID).Payload), "1")
	want(f, "payload of the one that was replaced by a later item", string(f.get(receipts[7].ID).Payload), "9")
	want(f, "payload of the debounced", string(f.get(receipts[1].ID).Payload), "4")
	log := f.audit(inspect.AuditFilter{})
	want(f, "entries of the audit log", len(log), 2)
	for _, entry := range log {
		want(f, "jobs of "+string(entry.Action), entry.Jobs, map[inspect.Action]int64{inspect.ActionEnqueue: 5, inspect.ActionUpdate: 3}[entry.Action])
	}
}

// An enqueue that waits for another transaction with the key adds its job when that is rolled back, and replaces the other's when it
// is committed.
func testUniqueModesRollback(f *fixture) {
	for name, option := range map[string]jobs.EnqueueOption{
		"replace": jobs.UniqueReplace("u"), "again": jobs.UniqueAgain("u"), "debounce": jobs.Debounce("u", time.Hour), "period": jobs.UniqueFor("u", time.Hour),
		"replace running": jobs.UniqueReplaceRunning("u"),
	} {
		for _, undone := range []error{errors.New("undone"), nil} {
			type answer struct {
				jobs.Receipt
				error
			}
			other := make(chan answer, 1)
			var won jobs.Receipt
			err := f.client.Tx(f.ctx, func(ctx context.Context, tx *jobs.Client) (err error) {
				if won, err = tx.Enqueue(ctx, name, json.RawMessage("1"), option); err != nil {
					return err
				}
				client := f.elsewhere()
				begun := make(chan struct{})
				go func() {
					close(begun)
					receipt, err := client.Enqueue(f.ctx, name, json.RawMessage("2"), option)
					other <- answer{receipt, err}
				}()
				<-begun
				return undone
			})
			if !errors.Is(err, undone) {
				f.Fatal(err)
			}
			got := receive(f, "the other enqueue", other)
			f.must(got.error)
			want(f, name+": the other existed", got.Existed, undone == nil)
			if undone == nil {
				want(f, name+": the other's id", got.ID, won.ID)
				want(f, name+": the other replaced", got.Replaced, name != "period")
			}
			f.must(f.client.Delete(f.ctx, got.ID))
			if name == "period" {
				break // the key stays taken
			}
		}
	}
}

// Many enqueue one key from several processes while runners work. No two runs overlap, the last payload of each caller or a later one is
// run, and nothing is left over.
func testUniqueModesHammered(f *fixture) {
	callers, each := 12, 25
	if testing.Short() {
		each = 8
	}
	clients := []*jobs.Client{f.client, f.elsewhere(), f.elsewhere()}
	a := &attempts{f: f}
	begun := map[int64]time.Time{}
	handler := on("k", func(_ context.Context, job jobs.Job) error {
		a.begin(job)
		defer a.end()
		a.mu.Lock()
		begun[job.ID] = time.Now()
		a.mu.Unlock()
		return nil
	})
	for _, client := range clients {
		f.startOn(client, jobs.Config{Queues: map[string]int{"default": 3}}, handler)
	}
	var wait sync.WaitGroup
	var newest atomic.Int64
	for i := range callers {
		wait.Go(func() {
			for n := range each {
				option := jobs.UniqueAgain("u")
				if i%2 == 0 {
					option = jobs.Debounce("u", time.Millisecond, jobs.AtMost(5*time.Millisecond))
				}
				called := time.Now()
				receipt, err := clients[i%len(clients)].Enqueue(f.ctx, "k", fmt.Append(nil, i*each+n), option)
				if err != nil {
					f.Error(err)
					return
				}
				newest.Store(max(newest.Load(), receipt.ID))
				job, err := clients[i%len(clients)].Wait(f.ctx, receipt.ID)
				if err != nil {
					f.Error(err)
					return
				}
				a.mu.Lock()
				if job.Status != jobs.StatusDone || begun[receipt.ID].Before(called) {
					f.Errorf("job %d is %s, and began %v before the enqueue that got it returned", receipt.ID, job.Status, called.Sub(begun[receipt.ID]))
				}
				a.mu.Unlock()
			}
		})
	}
	wait.Wait()
	if n := len(a.list); n > callers*each {
		f.Errorf("%d runs for %d enqueues", n, callers*each)
	}
	if job, err := f.client.GetByUniqueKey(f.ctx, "k", "u"); !errors.Is(err, jobs.ErrNotFound) {
		f.Errorf("job %d is left over: %v", job.ID, err)
	}
}

func testUniqueModesInvalid(f *fixture) {
	for text, option := range map[string][]jobs.EnqueueOption{
		"debounce time":    {jobs.Debounce("u", 0)},
		"longest debounce": {jobs.Debounce("u", time.Hour, jobs.AtMost(time.Minute))},
		"delay":            {jobs.Debounce("u", time.Hour), jobs.In(time.Second)},
		"run-after time":   {jobs.Debounce("u", time.Hour), jobs.At(f.store.Now().Add(time.Hour))},
		"unique period":    {jobs.UniqueFor("u", -time.Second)},
		"at most":          {jobs.UniqueFor("u", math.MaxInt64)},
		"metadata":         {jobs.Debounce("u", time.Hour), jobs.Metadata(1)},
		"year 9999":        {jobs.Debounce("u", math.MaxInt64), jobs.Debounce("u", 290*365*24*time.Hour)},
	} {
		_, err := f.client.Enqueue(f.ctx, "k", json.RawMessage("1"), option...)
		if text == "year 9999" { // 290 years are none too many
			f.must(err)
			continue
		}
		wantInvalid(f, text, err)
	}
	if _, err := f.client.EnqueueMany(f.ctx, "k", []json.RawMessage{[]byte("1")}, jobs.Debounce("u", time.Hour)); err == nil {
		f.Error("many jobs have one key")
	}
	if receipt := f.put(1, jobs.UniqueAgain("")); receipt.Existed || f.get(receipt.ID).UniqueKey != "" {
		f.Error("an empty key is one")
	}
}
