package sqlite

import (
	"context"
	"testing"

	"github.com/sqluice/sqluice/db"
)

// A migration waits for a running read, and meanwhile no other read or write of the store waits.
func TestMigrateBesideALongRead(t *testing.T) {
	store, client := queue(t)
	begun, end, read := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		read <- store.Inspect(t.Context(), func(context.Context, db.Querier) error {
			close(begun)
			<-end
			return nil
		})
	}()
	receive(t, "the beginning of the read", begun)
	migrated := make(chan error, 1)
	go func() {
		_, err := client.Migrate(t.Context())
		migrated <- err
	}()
	// The migration has dropped the statements and waits.
	eventually(t, "the statements are dropped", func() bool {
		store.pools.mu.RLock()
		defer store.pools.mu.RUnlock()
		return store.pools.inspections == nil
	})
	id := enqueue(t, client, "k")
	_, err := client.Get(t.Context(), id)
	must(t, err)
	select {
	case err := <-migrated:
		t.Errorf("the migration did not wait for the read: %v", err)
	default:
	}
	close(end)
	must(t, receive(t, "the end of the read", read))
	must(t, receive(t, "the end of the migration", migrated))
}
