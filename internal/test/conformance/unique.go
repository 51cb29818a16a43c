package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/sqluice/sqluice/jobs"
)

var uniqueTests = []test{
	{"FindsTheLiveJob", testUniqueFinds},
	{"FreeAfterTheEnd", testUniqueFreed},
	{"PerKind", testUniquePerKind},
	{"OneWinner", func(f *fixture) { testOneWinner(f, jobs.Unique) }},
	{"OneWinnerByRequest", func(f *fixture) { testOneWinner(f, jobs.RequestID) }},
	{"RequestIDOutlivesTheJob", testRequestID},
	{"LongestKeys", testLongestKeys},
	{"LookUp", testLookUp},
}

// A job is found by its unique key while it lives, and by its request id for longer; each in its kind alone.
func testLookUp(f *fixture) {
	id := f.enqueue("k", jobs.Unique("a"), jobs.RequestID("b"))
	other := f.enqueue("l", jobs.Unique("a"), jobs.RequestID("b"))
	unique, err := f.client.GetByUniqueKey(f.ctx, "k", "a")
	f.must(err)
	request, err := f.client.GetByRequestID(f.ctx, "l", "b")
	f.must(err)
	want(f, "the job by its unique key", unique.ID, id)
	want(f, "the job by its request id", request.ID, other)
	want(f, "its request id", request.RequestID, "b")
	for _, missing := range [][2]string{{"k", "b"}, {"m", "a"}, {"k", ""}} {
		if _, err := f.client.GetByUniqueKey(f.ctx, missing[0], missing[1]); !errors.Is(err, jobs.ErrNotFound) {
			f.Errorf("%q: the look-up by a unique key gives %v", missing, err)
		}
	}
	if _, err := f.client.GetByRequestID(f.ctx, "k", "a"); !errors.Is(err, jobs.ErrNotFound) {
		f.Errorf("the look-up by a request id gives %v", err)
	}
	for _, text := range []string{"a\x00", "\xff"} { // which PostgreSQL takes for no parameter
		_, kind := f.client.GetByUniqueKey(f.ctx, text, "a")
		_, key := f.client.GetByUniqueKey(f.ctx, "k", text)
		_, request := f.client.GetByRequestID(f.ctx, "k", text)
		for field, err := range map[string]error{"kind": kind, "unique key": key, "request id": request} {
			if invalid := (*jobs.InvalidError)(nil); !errors.As(err, &invalid) || invalid.Field != field {
				f.Errorf("the look-up by the %s %q gives %v", field, text, err)
			}
		}
	}
	f.drain(jobs.Config{}, on("k", func(context.Context, jobs.Job) error { return nil }))
	if _, err := f.client.GetByUniqueKey(f.ctx, "k", "a"); !errors.Is(err, jobs.ErrNotFound) {
		f.Errorf("a job that is done is found by its unique key: %v", err)
	}
	ended, err := f.client.GetByRequestID(f.ctx, "k", "b")
	f.must(err)
	want(f, "status", ended.Status, jobs.StatusDone)
}

// testLongestKeys has keys of characters that need four bytes and that no compression makes shorter.
func testLongestKeys(f *fixture) {
	random := rand.New(rand.NewPCG(1, 2))
	letters := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteRune(0x10000 + random.Int32N(0x8000))
		}
		return b.String()
	}
	kind, key := letters(jobs.MaxNameLength), letters((jobs.MaxKeyBytes-4*jobs.MaxNameLength)/4)
	first := f.enqueue(kind, jobs.Unique(key), jobs.RequestID(key), jobs.Queue(letters(jobs.MaxNameLength)))
	second, err := f.client.Enqueue(f.ctx, kind, json.RawMessage("{}"), jobs.Unique(key))
	f.must(err)
	want(f, "receipt", second, jobs.Receipt{ID: first, Existed: true})
	for name, option := range map[string]jobs.EnqueueOption{"unique key": jobs.Unique(key + "x"), "request id": jobs.RequestID(key + "x")} {
		_, err := f.client.Enqueue(f.ctx, kind, json.RawMessage("{}"), option)
		wantInvalid(f, name+" of a byte more", err)
	}
}

func testUniqueFinds(f *fixture) {
	first := f.enqueue("k", jobs.Unique("u"))
	second, err := f.client.Enqueue(f.ctx, "k", json.RawMessage("{}"), jobs.Unique("u"))
	f.must(err)
	want(f, "receipt", second, jobs.Receipt{ID: first, Existed: true})
}

func testUniqueFreed(f *fixture) {
	first := f.enqueue("k", jobs.Unique("u"))
	f.drain(jobs.Config{}, on("k", nothing))
	second := f.enqueue("k", jobs.Unique("u"))
	if second == first {
		f.Error("the ended job holds its key")
	}
	_, err := f.client.Cancel(f.ctx, second)
	f.must(err)
	f.enqueue("k", jobs.Unique("u"))
}

func testUniquePerKind(f *fixture) {
	f.enqueue("k", jobs.Unique("u"), jobs.RequestID("r"))
	f.enqueue("l", jobs.Unique("u"), jobs.RequestID("r"))
}

// testOneWinner lets 64 goroutines over four stores race for one key, twenty times.
func testOneWinner(f *fixture, key func(string) jobs.EnqueueOption) {
	clients := []*jobs.Client{f.client, f.elsewhere(), f.elsewhere(), f.elsewhere()}
	for round := range 20 {
		option := key(fmt.Sprint("key", round))
		var added atomic.Int64
		var ids sync.Map
		var racers sync.WaitGroup
		start := make(chan struct{})
		for i := range 64 {
			racers.Go(func() {
				<-start
				receipt, err := clients[i%len(clients)].Enqueue(f.ctx, "k", json.RawMessage("{}"), option)
				if err != nil {
					f.Error(err)
					return
				}
				ids.Store(receipt.ID, true)
				if !receipt.Existed {
					added.Add(1)
				}
			})
		}
		close(start)
		racers.Wait()
		want(f, "winners", added.Load(), 1)
		different := 0
		ids.Range(func(any, any) bool { different++; return true })
		want(f, "different ids", different, 1)
	}
}

func testRequestID(f *fixture) {
	first := f.enqueue("k", jobs.RequestID("r"))
	f.drain(jobs.Config{}, on("k", nothing))
	receipt, err := f.client.Enqueue(f.ctx, "k", json.RawMessage("{}"), jobs.RequestID("r"))
	f.must(err)
	want(f, "receipt", receipt, jobs.Receipt{ID: first, Existed: true})
	f.must(f.client.Delete(f.ctx, first))
	f.enqueue("k", jobs.RequestID("r"))
}
