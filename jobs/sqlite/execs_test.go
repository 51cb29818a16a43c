package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"testing"

	"github.com/sqluice/sqluice/db"
)

func TestUnnumbered(t *testing.T) {
	for query, want := range map[string]struct {
		text  string
		order []int
	}{
		"BEGIN":                        {"BEGIN", nil},
		"SELECT ?2, ?1, ?12 WHERE ?2":  {"SELECT ?, ?, ? WHERE ?", []int{1, 0, 11, 1}},
		"INSERT INTO t VALUES (?1,?1)": {"INSERT INTO t VALUES (?,?)", []int{0, 0}},
	} {
		if text, order := unnumbered(query); text != want.text || !slices.Equal(order, want.order) {
			t.Errorf("%s becomes %s with %v", query, text, order)
		}
	}
}

// A statement that inserts no row has no id, after any earlier insert.
func TestIDOfNoRow(t *testing.T) {
	store, client := queue(t)
	enqueue(t, client, "k")
	must(t, store.Write(t.Context(), func(ctx context.Context, q db.Querier) error {
		w := q.(*writes)
		for _, list := range []string{`["1","2"]`, `[]`} {
			result, err := w.stmts.ExecContext(ctx, statementOf(t, "db/sqliteonly", "EnqueueJobs"), "k", "default", "pending", int64(0), int64(0), nil, int64(1), int64(0), nil, nil, nil, int64(0), list)
			if err != nil {
				return err
			}
			n, err := result.RowsAffected()
			must(t, err)
			id, err := result.LastInsertId()
			if n == 0 && !errors.Is(err, sql.ErrNoRows) || n > 0 && (err != nil || id != 3) {
				t.Errorf("%s adds %d rows, the last with the id %d, %v", list, n, id, err)
			}
		}
		return nil
	}))
}

// A statement that the driver cannot run or prepare returns an error, and nothing of it is kept.
func TestExecThatCannotRun(t *testing.T) {
	store, _ := queue(t)
	must(t, store.Write(t.Context(), func(ctx context.Context, q db.Querier) error {
		w := q.(*writes)
		kept := len(w.stmts.kept)
		if _, err := w.stmts.ExecContext(ctx, statement(t, "no_such_table")); err == nil {
			t.Error("a statement that cannot be prepared gives no error")
		}
		if len(w.stmts.kept) != kept {
			t.Errorf("%d statements are kept after %d", len(w.stmts.kept), kept)
		}
		if _, err := w.stmts.ExecContext(ctx, statement(t, "insert_job"), "k", make(chan int)); err == nil {
			t.Error("an argument that is no value gives no error")
		}
		if len(w.stmts.args) != 0 {
			t.Errorf("%d arguments are left", len(w.stmts.args))
		}
		return nil
	}))
}
