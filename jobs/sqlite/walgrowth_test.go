package sqlite

import (
	"database/sql"
	"encoding/json"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A program that does not end its read transaction lets the WAL grow: the writers log it. After its end the WAL shrinks.
func TestAWALThatGrowsIsToldOf(t *testing.T) {
	log := &journal{}
	store, client := queue(t, WithLogger(slog.New(log)), func(o *options) { o.walLarge = 65 << 20 })
	enqueue(t, client, "k")
	other, err := sql.Open("sqlite", "file:"+store.path)
	must(t, err)
	t.Cleanup(func() { must(t, other.Close()) }) // closing it twice does no harm
	reader, err := other.BeginTx(t.Context(), nil)
	must(t, err)
	must(t, reader.QueryRowContext(t.Context(), statement(t, "count_jobs")).Scan(new(int64)))

	payload, err := json.Marshal(strings.Repeat("x", 900_000))
	must(t, err)
	many := make([]json.RawMessage, 10)
	for i := range many {
		many[i] = payload
	}
	write := func() {
		t.Helper()
		_, err := client.EnqueueMany(t.Context(), "k", many)
		must(t, err)
	}
	for range 8 {
		write()
	}
	size, err := store.walSize()
	must(t, err)
	if size < 65<<20 {
		t.Errorf("the WAL has %d bytes", size)
	}
	eventually(t, "the log says so", func() bool {
		enqueue(t, client, "k")
		return log.holds("the WAL grows")
	})
	must(t, reader.Rollback())
	must(t, other.Close())
	for range 3 { // the first ones checkpoint and restart it
		write()
	}
	if size, err = store.walSize(); err != nil || size > 64<<20 {
		t.Errorf("the WAL has %d bytes, %v", size, err)
	}
	eventually(t, "the log says so", func() bool {
		enqueue(t, client, "k")
		return log.holds("of its usual size again")
	})
	must(t, store.Close())
	if size, err = store.walSize(); err != nil || size != 0 {
		t.Errorf("without processes the WAL has %d bytes, %v", size, err)
	}
	if _, err := os.Stat(store.path); err != nil {
		t.Error(err)
	}
}

// A reader is blamed when the WAL stays large, and not after one large transaction: the next commit restarts the WAL.
func TestOneLargeTransactionBlamesNoReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		s := walGrowth{logger: slog.New(slog.NewTextHandler(&log, nil)), large: 100}
		see := func(size int64, later time.Duration, grows, usual int) {
			t.Helper()
			time.Sleep(later)
			s.see(size)
			if n := strings.Count(log.String(), "the WAL grows"); n != grows {
				t.Errorf("%d warnings, not %d", n, grows)
			}
			if n := strings.Count(log.String(), "of its usual size again"); n != usual {
				t.Errorf("it is told %d times that it shrank, not %d", n, usual)
			}
		}
		see(10, 0, 0, 0)
		see(1000, 0, 0, 0) // the large transaction
		see(50, time.Hour, 0, 0)
		see(1000, 0, 0, 0)
		see(1000, walSurely-1, 0, 0)
		see(1000, 1, 1, 0)
		see(1000, walTellEvery-1, 1, 0)
		see(1000, 1, 2, 0)
		see(50, 1, 2, 1)
		see(50, 1, 2, 1)
	})
}

// A queue behaves as that test assumes.
func TestTheWALShrinksAfterALargeTransaction(t *testing.T) {
	store, client := queue(t)
	payload, err := json.Marshal(strings.Repeat("x", 900_000))
	must(t, err)
	_, err = client.EnqueueMany(t.Context(), "k", slices.Repeat([]json.RawMessage{payload}, 160))
	must(t, err)
	if size, err := store.walSize(); err != nil || size < walLarge {
		t.Errorf("after the transaction the WAL has %d bytes, %v", size, err)
	}
	enqueue(t, client, "k")
	if size, err := store.walSize(); err != nil || size >= walLarge {
		t.Errorf("after the next commit the WAL has %d bytes, %v", size, err)
	}
}
