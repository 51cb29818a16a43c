package sqlite

import (
	"context"
	"sync"
	"testing"

	"github.com/sqluice/sqluice/db"
)

func TestStatementsArePreparedAtFirstUse(t *testing.T) {
	store, client := queue(t)
	enqueue(t, client, "k")
	kept := func() map[string]bool {
		texts := map[string]bool{}
		must(t, store.Write(t.Context(), func(_ context.Context, q db.Querier) error {
			for text := range q.(*writes).stmts.kept {
				texts[text] = true
			}
			return nil
		}))
		return texts
	}
	first := kept()
	if len(first) == 0 || len(first) > 10 {
		t.Errorf("an enqueue has %d statements prepared", len(first))
	}
	enqueue(t, client, "k")
	if again := kept(); len(again) != len(first) {
		t.Errorf("another enqueue has %d statements prepared in place of %d", len(again), len(first))
	}
	must(t, store.Write(t.Context(), add("a")))
	if more := kept(); len(more) != len(first)+1 {
		t.Errorf("with another statement %d are prepared, after %d", len(more), len(first))
	}
}

// Several callers with a new statement at once can all use it, and it is kept once.
func TestStatementPreparedByManyAtOnce(t *testing.T) {
	store, _ := queue(t)
	stmts := newStatements(store.pools.readDB)
	const many = 20
	var group sync.WaitGroup
	begin := make(chan struct{})
	for range many {
		group.Go(func() {
			<-begin
			for range 10 {
				var version int64
				if err := stmts.QueryRowContext(t.Context(), control("data_version")).Scan(&version); err != nil {
					t.Error(err)
				}
			}
		})
	}
	close(begin)
	group.Wait()
	if len(stmts.kept) != 1 {
		t.Errorf("%d statements are kept", len(stmts.kept))
	}
	must(t, stmts.close())
	if len(stmts.kept) != 0 {
		t.Errorf("%d statements are kept after the end", len(stmts.kept))
	}
}

// A statement that cannot be prepared returns an error from every kind of use, and is not kept.
func TestStatementThatCannotBePrepared(t *testing.T) {
	store, _ := queue(t)
	stmts := newStatements(store.pools.readDB)
	text := statement(t, "no_such_table")
	_, execErr := stmts.ExecContext(t.Context(), text)
	_, queryErr := stmts.QueryContext(t.Context(), text)
	rowErr := stmts.QueryRowContext(t.Context(), text).Scan(new(int64))
	for name, err := range map[string]error{"exec": execErr, "query": queryErr, "row": rowErr} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if len(stmts.kept) != 0 {
		t.Errorf("%d statements are kept", len(stmts.kept))
	}
}
