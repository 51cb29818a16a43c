package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

var cipherTests = []test{
	{"EveryWayIn", testEncryptedWays},
	{"Ends", testEncryptedEnds},
	{"Report", testEncryptedReport},
	{"WithoutTheKey", testEncryptedWithoutKey},
	{"WithAnotherKey", testEncryptedWithAnotherKey},
	{"Largest", testEncryptedLargest},
	{"Refused", testEncryptedRefused},
	{"Schedules", testEncryptedSchedules},
	{"RevealErrors", testRevealErrors},
	{"Rekey", testRekey},
	{"RekeyBesideWorkers", testRekeyBesideWorkers},
	{"RekeyBesideAChange", testRekeyBesideAChange},
}

// shownError is the beginning of the text that is shown in place of an encrypted error.
const shownError = "[encrypted "

// planted is a text that only a handler and a revealed client with the key may show.
const planted = "secret-4f1c7d2b"

// plantedJSON is a payload with it.
const plantedJSON = `{"card":"` + planted + `"}`

// key returns a key by its id.
func key(id string) jobs.Key { return jobs.Key{ID: id, Secret: []byte(strings.Repeat(id[:1], 32))} }

// encrypting returns a client of the fixture's store that encrypts with the first of the keys.
func (f *fixture) encrypting(ids ...string) *jobs.Client {
	f.Helper()
	keys := make([]jobs.Key, len(ids))
	for i, id := range ids {
		keys[i] = key(id)
	}
	c, err := jobs.NewCipher(keys...)
	f.must(err)
	return jobs.New(f.store, jobs.WithCipher(c))
}

// wantEncrypted checks that clients without the key, and clients that are not revealed, see no value of a job.
func (f *fixture) wantEncrypted(what string, ids ...int64) {
	f.Helper()
	for _, c := range []*jobs.Client{f.client, f.client.Revealed(), f.encrypting("a"), f.encrypting("z").Revealed()} {
		in := inspect.New(c)
		for _, id := range ids {
			job, err := c.Get(f.ctx, id)
			f.must(err)
			list, err := in.Errors(f.ctx, id)
			f.must(err)
			text := fmt.Sprintf("%s %s %s %s %v", job.Payload, job.Progress, job.Result, job.LastError, list)
			if strings.Contains(text, planted) || strings.Contains(text, "sqluice:encrypted") {
				f.Errorf("%s: a client sees %s", what, text)
			}
			want(f, what+": the payload that is shown", string(job.Payload), `"`+jobs.Encrypted+`"`)
		}
	}
}

func testEncryptedWays(f *fixture) {
	c := f.encrypting("a")
	kind := jobs.Kind[json.RawMessage]{Name: "k"}
	payload := json.RawMessage(plantedJSON)
	one, err := kind.Enqueue(f.ctx, c, payload)
	f.must(err)
	named, err := c.Enqueue(f.ctx, "k", payload, jobs.Unique("u"), jobs.RequestID("r"))
	f.must(err)
	many, err := kind.EnqueueMany(f.ctx, c, []json.RawMessage{payload, payload, payload})
	f.must(err)
	items, err := c.EnqueueItems(f.ctx, []jobs.Item{kind.Item(payload), jobs.NewItem("k", payload)})
	f.must(err)
	replaced, err := c.Enqueue(f.ctx, "k", payload, jobs.UniqueReplace("v"), jobs.In(time.Hour))
	f.must(err)
	_, err = c.Enqueue(f.ctx, "k", payload, jobs.UniqueReplace("v"))
	f.must(err)
	f.must(c.Update(f.ctx, replaced.ID, jobs.SetRunAfter(time.Time{})))
	updated := f.enqueue("k")
	f.must(c.Update(f.ctx, updated, jobs.SetPayload(payload)))
	ids := []int64{one.ID, named.ID, replaced.ID, updated}
	for _, r := range append(many, items...) {
		ids = append(ids, r.ID)
	}
	f.wantEncrypted("before the run", ids...)
	for _, id := range ids {
		job, err := c.Revealed().Get(f.ctx, id)
		f.must(err)
		want(f, "the payload of a revealed client", string(job.Payload), plantedJSON)
	}
	list, err := inspect.New(c.Revealed()).List(f.ctx, inspect.Filter{})
	f.must(err)
	for _, job := range list {
		want(f, "the payload in a revealed list", string(job.Payload), plantedJSON)
	}
	var ran atomic.Int64
	r := f.startOn(c, jobs.Config{}, on("k", func(ctx context.Context, job jobs.Job) error {
		ran.Add(1)
		if string(job.Payload) != plantedJSON {
			f.Errorf("the handler got %s", job.Payload)
		}
		return nil
	}))
	for _, id := range ids {
		want(f, "status", f.ended(id).Status, jobs.StatusDone)
	}
	r.stop()
	want(f, "handled", ran.Load(), int64(len(ids)))
	f.wantEncrypted("after the run", ids...)
}

func testEncryptedEnds(f *fixture) {
	c := f.encrypting("a")
	log := &lines{}
	add := func(kind string, opts ...jobs.EnqueueOption) int64 {
		receipt, err := c.Enqueue(f.ctx, kind, json.RawMessage(plantedJSON), opts...)
		f.must(err)
		return receipt.ID
	}
	failing, panicking, retried, ending, inside := add("fail", jobs.MaxAttempts(1)), add("panic", jobs.MaxAttempts(1)), add("fail"), add("end"), add("inside")
	r := f.startOn(c, jobs.Config{Logger: slog.New(slog.NewTextHandler(log, nil))},
		on("fail", func(ctx context.Context, job jobs.Job) error {
			text, err := job.Withhold(ctx, "no: "+planted)
			want(f, "a text that is withheld", text, jobs.Encrypted)
			return errors.Join(err, errors.New("no: "+planted))
		}),
		on("panic", func(ctx context.Context, job jobs.Job) error { panic(planted) }),
		on("end", func(ctx context.Context, job jobs.Job) error {
			return errors.Join(job.SetProgress(ctx, planted), job.SetResult(planted))
		}),
		on("inside", func(ctx context.Context, job jobs.Job) error {
			tx, err := f.store.Begin(ctx)
			if err != nil {
				return err
			}
			if err := jobs.CompleteTx(ctx, tx, job, planted); err != nil {
				return errors.Join(err, tx.Rollback())
			}
			return tx.Commit()
		}))
	for _, id := range []int64{failing, panicking, ending, inside} {
		f.ended(id)
	}
	f.becomes(retried, jobs.StatusScheduled)
	r.stop()
	f.wantEncrypted("ended", failing, panicking, retried, ending, inside)
	if text := log.String(); strings.Contains(text, planted) || !strings.Contains(text, shownError) {
		f.Errorf("the log is\n%s", text)
	}
	revealed := c.Revealed()
	in := inspect.New(revealed)
	for _, id := range []int64{failing, panicking, retried} {
		job, err := revealed.Get(f.ctx, id)
		f.must(err)
		list, err := in.Errors(f.ctx, id)
		f.must(err)
		if len(list) != 1 || !strings.Contains(list[0].Message, planted) || list[0].Message != job.LastError {
			f.Errorf("job %d has the error %q and %v", id, job.LastError, list)
		}
		if id == panicking && !strings.Contains(list[0].Stack, "goroutine") {
			f.Errorf("the stack is %q", list[0].Stack)
		}
	}
	for _, id := range []int64{ending, inside} {
		job, err := revealed.Get(f.ctx, id)
		f.must(err)
		want(f, "result", string(job.Result), `"`+planted+`"`)
	}
}

// Equal errors are one group of the report, which only a revealed client with the key can read.
func testEncryptedReport(f *fixture) {
	c := f.encrypting("a")
	for range 4 {
		_, err := c.Enqueue(f.ctx, "k", json.RawMessage(plantedJSON), jobs.MaxAttempts(1))
		f.must(err)
	}
	long := planted + strings.Repeat("é", 1500)
	r := f.startOn(c, jobs.Config{}, on("k", func(_ context.Context, job jobs.Job) error {
		if job.ID == 4 {
			return errors.New("another")
		}
		return errors.New(long)
	}))
	for id := int64(1); id <= 4; id++ {
		f.ended(id)
	}
	r.stop()
	shown := f.get(1).LastError
	if !strings.HasPrefix(shown, shownError) || f.get(2).LastError != shown || f.get(4).LastError == shown {
		f.Errorf("the errors are shown as %q, %q, %q", shown, f.get(2).LastError, f.get(4).LastError)
	}
	for client, text := range map[*jobs.Client]string{f.client.Revealed(): shown, c: shown, c.Revealed(): long} {
		report, err := inspect.New(client).FailedReport(f.ctx, inspect.FailedFilter{})
		f.must(err)
		if len(report.Groups) != 2 || report.Groups[0].Jobs != 3 || report.Groups[0].Error != text || report.Groups[1].Error == text {
			f.Errorf("the report is %+v", report)
		}
		list, err := inspect.New(client).Failures(f.ctx, inspect.FailedFilter{}, inspect.Failure{})
		f.must(err)
		short := []rune(text)
		short = short[:min(1000, len(short))]
		for _, failure := range list {
			if failure.ID != 4 {
				want(f, "the error of a summary", failure.Error, string(short))
			}
		}
	}
	found, err := inspect.New(c).List(f.ctx, inspect.Filter{Text: "encrypted"})
	f.must(err)
	want(f, "jobs that a search finds by what is stored", len(found), 0)
}

// A worker without the key charges nothing to the job: it says which key it is, and a worker with the key runs the job.
func testEncryptedWithoutKey(f *fixture) {
	receipt, err := f.encrypting("a").Enqueue(f.ctx, "k", json.RawMessage(plantedJSON), jobs.MaxAttempts(1))
	f.must(err)
	id := receipt.ID
	for _, client := range []*jobs.Client{f.client, f.encrypting("b")} {
		f.must(f.runner(client, jobs.Config{}, on("k", f.uncalled)).Drain(f.ctx))
		f.wantUnable(id, `the payload is encrypted with the key "a": this program does not have the key`)
		f.dueNow(id)
	}
	f.must(f.runner(f.encrypting("b", "a"), jobs.Config{}, on("k", func(_ context.Context, job jobs.Job) error {
		want(f, "payload", string(job.Payload), plantedJSON)
		return nil
	})).Drain(f.ctx))
	want(f, "status", f.get(id).Status, jobs.StatusDone)
}

// A key that has the right id and did not encrypt the payload is no fault of the worker alone: the attempt counts.
func testEncryptedWithAnotherKey(f *fixture) {
	receipt, err := f.encrypting("a").Enqueue(f.ctx, "k", json.RawMessage(plantedJSON), jobs.MaxAttempts(2))
	f.must(err)
	wrong, err := jobs.NewCipher(jobs.Key{ID: "a", Secret: []byte(strings.Repeat("x", 32))})
	f.must(err)
	kind := jobs.Kind[json.RawMessage]{Name: "k", RetryDelay: func(_ jobs.Job, err error) time.Duration {
		if !errors.Is(err, jobs.ErrKey) {
			f.Errorf("the error %v is not ErrKey", err)
		}
		return time.Hour
	}}
	f.must(f.runner(jobs.New(f.store, jobs.WithCipher(wrong)), jobs.Config{}, onKind(kind, f.uncalled)).Drain(f.ctx))
	want(f, "attempts that count", f.get(receipt.ID).Counted(), 1)
	f.wantError(receipt.ID, jobs.CauseDecode,
		`the key "a" did not encrypt the payload for the kind "k": another key had this id, or the value was changed`)
}

// The bound counts the encrypted length.
func testEncryptedLargest(f *fixture) {
	c := f.encrypting("a")
	largest := json.RawMessage(`"` + strings.Repeat("x", jobs.MaxPayload-2) + `"`)
	receipt, err := c.Enqueue(f.ctx, "k", largest)
	f.must(err)
	_, err = c.Enqueue(f.ctx, "k", append(json.RawMessage(" "), largest...))
	wantInvalid(f, "a payload of a byte more", err)
	_, err = c.EnqueueMany(f.ctx, "k", []json.RawMessage{largest, largest})
	f.must(err)
	r := f.startOn(c, jobs.Config{}, on("k", func(ctx context.Context, job jobs.Job) error {
		if string(job.Payload) != string(largest) {
			f.Errorf("the handler got %d bytes", len(job.Payload))
		}
		return errors.Join(job.SetProgress(ctx, largest), job.SetResult(largest))
	}))
	f.ended(receipt.ID)
	r.stop()
	job, err := c.Revealed().Get(f.ctx, receipt.ID)
	f.must(err)
	if string(job.Result) != string(largest) || string(job.Progress) != string(largest) {
		f.Errorf("the result has %d bytes and the progress %d", len(job.Result), len(job.Progress))
	}
}

// The text that stands for an encrypted value is not accepted as a value.
func testEncryptedRefused(f *fixture) {
	_, err := f.client.Enqueue(f.ctx, "k", json.RawMessage(`"sqluice:encrypted:1:a:AAAA"`))
	wantInvalid(f, "a payload that looks encrypted", err)
	receipt, err := f.encrypting("a").Enqueue(f.ctx, "k", json.RawMessage(plantedJSON))
	f.must(err)
	shown := f.get(receipt.ID).Payload
	for _, c := range []*jobs.Client{f.client, f.encrypting("a")} {
		wantInvalid(f, "a payload as it was shown", c.Update(f.ctx, receipt.ID, jobs.SetPayload(shown)))
		_, err := c.Enqueue(f.ctx, "k", shown)
		wantInvalid(f, "a job with a payload as it was shown", err)
		wantInvalid(f, "a schedule with a payload as it was shown", c.PutSchedule(f.ctx, jobs.NewSchedule("s", "@daily", "k", shown)))
	}
	wantInvalid(f, "a plain payload in place of an encrypted one", f.client.Update(f.ctx, receipt.ID, jobs.SetPayload(1)))
	f.must(f.client.Update(f.ctx, receipt.ID, jobs.SetPriority(1)))
	f.must(f.encrypting("a").PutSchedule(f.ctx, jobs.NewSchedule("s", "@daily", "k", json.RawMessage("1"))))
	for name, mode := range map[string]jobs.EnqueueOption{
		"replace": jobs.UniqueReplace("u"), "again": jobs.UniqueAgain("u"), "debounce": jobs.Debounce("u", time.Hour),
	} {
		unique, err := f.encrypting("a").Enqueue(f.ctx, "unique", json.RawMessage(plantedJSON), mode)
		f.must(err)
		_, err = f.client.Enqueue(f.ctx, "unique", json.RawMessage("1"), mode)
		wantInvalid(f, name+": a plain payload in place of an encrypted one", err)
		again, err := f.encrypting("a").Enqueue(f.ctx, "unique", json.RawMessage("2"), mode)
		f.must(err)
		want(f, name+": another encrypted one", again, jobs.Receipt{ID: unique.ID, Existed: true, Replaced: true})
	}
	wantInvalid(f, "a plain schedule in place of an encrypted one", f.client.PutSchedule(f.ctx, jobs.NewSchedule("s", "@daily", "k", json.RawMessage("1"))))
	for name, keys := range map[string][]jobs.Key{
		"no key": {}, "an empty id": {{Secret: key("a").Secret}}, "an id with a colon": {{ID: "a:b", Secret: key("a").Secret}},
		"a short secret": {{ID: "a", Secret: []byte("short")}}, "an id twice": {key("a"), key("a")},
		"a secret twice": {key("a"), {ID: "b", Secret: key("a").Secret}},
	} {
		_, err := jobs.NewCipher(keys...)
		wantInvalid(f, name, err)
		if err != nil && strings.Contains(err.Error(), "short secret") {
			f.Errorf("the error has the secret: %v", err)
		}
	}
}

func testEncryptedSchedules(f *fixture) {
	c := f.encrypting("a")
	kind := jobs.Kind[json.RawMessage]{Name: "k"}
	f.must(c.PutSchedule(f.ctx, kind.Every("s", time.Hour, json.RawMessage(plantedJSON))))
	before, err := f.client.GetSchedule(f.ctx, "s")
	f.must(err)
	want(f, "the payload that is shown", string(before.Payload), `"`+jobs.Encrypted+`"`)
	revealed, err := c.Revealed().GetSchedule(f.ctx, "s")
	f.must(err)
	want(f, "the payload of a revealed client", string(revealed.Payload), plantedJSON)
	f.must(c.PutSchedule(f.ctx, kind.Every("s", time.Hour, json.RawMessage(plantedJSON))))
	id, err := f.client.RunSchedule(f.ctx, "s") // by a program without the key
	f.must(err)
	f.wantEncrypted("a job of a schedule", id)
	r := f.startOn(c, jobs.Config{}, on("k", func(_ context.Context, job jobs.Job) error {
		want(f, "payload", string(job.Payload), plantedJSON)
		return nil
	}))
	f.ended(id)
	r.stop()
}

// RunSecrets has the library write a secret to each place where it may be written, encrypted, and then search finds no place that has it.
// search returns those places of a database in which it finds a text.
func RunSecrets(t *testing.T, open Open, search func(ctx context.Context, store Store, text string) ([]string, error)) {
	f := newFixture(t, open)
	testEncryptedEnds(f)
	c := f.encrypting("a")
	f.must(c.PutSchedule(f.ctx, jobs.Kind[json.RawMessage]{Name: "k"}.Every("s", time.Hour, json.RawMessage(plantedJSON))))
	_, err := inspect.New(f.encrypting("b", "a")).Rekey(f.ctx, inspect.RekeyOptions{})
	f.must(err)
	for text, found := range map[string]bool{planted: false, "sqluice:encrypted:1:b": true} {
		places, err := search(f.ctx, f.store, text)
		f.must(err)
		if (len(places) > 0) != found {
			f.Errorf("%q is found in %v", text, places)
		}
	}
}
