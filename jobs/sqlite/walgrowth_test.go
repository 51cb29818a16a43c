package sqlite

import (
	"database/sql"
	"encoding/json"
	"log/slog"
	"os"
	"strings"
	"testing"
)

// A program that reads and does not end its transaction lets the WAL grow: the writers say so. After it the WAL shrinks.
func TestAWALThatGrowsIsToldOf(t *testing.T) {
	log := &journal{}
	store, client := queue(t, WithLogger(slog.New(log)), func(o *options) { o.walLarge = 65 << 20 })
	enqueue(t, client, "k")
	other, err := sql.Open("sqlite", "file:"+store.path)
	must(t, err)
	t.Cleanup(func() { must(t, other.Close()) }) // once more does no harm
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
	for range 3 { // the first ones bring it to the database and begin it anew
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
