package main

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"
)

func TestByCallers(t *testing.T) {
	var mu sync.Mutex
	var got []int
	if err := byCallers(3, 10, func(i int) error {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, i)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	slices.Sort(got)
	if !slices.Equal(got, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}) {
		t.Errorf("%v were added", got)
	}
	broken := errors.New("broken")
	calls := 0
	if err := byCallers(1, 10, func(int) error { calls++; return broken }); !errors.Is(err, broken) || calls != 1 {
		t.Errorf("%v after %d calls", err, calls)
	}
}

func TestPace(t *testing.T) {
	const rate = 1000
	type part struct{ from, to int }
	var parts []part
	begin := time.Now()
	sent, err := pace(t.Context(), task{Jobs: 10, Rate: rate, Batch: 4}, func(from, to int) error {
		if due := time.Duration(from) * time.Second / rate; time.Since(begin) < due {
			t.Errorf("job %d was sent before its time", from)
		}
		parts = append(parts, part{from, to})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(parts, []part{{0, 4}, {4, 8}, {8, 10}}) {
		t.Errorf("added %v", parts)
	}
	if len(sent) != 10 || sent[0] != sent[3] || sent[8] != sent[9] {
		t.Errorf("sent at %v", sent)
	}
	broken := errors.New("broken")
	if sent, err := pace(t.Context(), task{Jobs: 10, Rate: 1e9}, func(int, int) error { return broken }); !errors.Is(err, broken) || len(sent) != 1 {
		t.Errorf("%v after %d", err, len(sent))
	}
}

func TestJournal(t *testing.T) {
	log := newJournal(2)
	log.start(1)
	select {
	case <-log.ended:
		t.Fatal("ended after one of two")
	default:
	}
	log.start(0)
	log.start(0) // one start too many must not panic
	if err := log.wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if lost, again := countStarts(2, log.starts()); lost != 0 || again != 1 {
		t.Errorf("%d lost, %d again", lost, again)
	}
}

func TestPayloads(t *testing.T) {
	list := payloads(5, 8, padding)
	if len(list) != 3 || list[0] != payload(5, padding) || list[2].N != 7 || len(list[2].Pad) != padding {
		t.Errorf("%+v", list)
	}
}
