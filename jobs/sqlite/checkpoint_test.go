package sqlite

import "testing"

// Small commits are brought to the database beside the writer, before SQLite does it within one of them.
func TestCheckpointsBesideTheWriter(t *testing.T) {
	store, client := queue(t)
	enqueue(t, client, "k")
	_, before, err := identify(store.Path())
	must(t, err)
	for range checkpointEach {
		enqueue(t, client, "k")
	}
	store.writer.checkpoints.end.Wait()
	const page, frame, checkpointAt = 4096, 4096 + 24, 1000
	if size, err := store.WALSize(); err != nil || size >= checkpointAt*frame {
		t.Fatalf("the WAL has %d bytes, %v: SQLite's own checkpoint may have come first", size, err)
	}
	_, after, err := identify(store.Path())
	must(t, err)
	if after < before+5*page {
		t.Errorf("the database had %d bytes and has %d after %d commits", before, after, checkpointEach)
	}
}
