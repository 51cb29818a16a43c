package conformance

import (
	"encoding/json"
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
