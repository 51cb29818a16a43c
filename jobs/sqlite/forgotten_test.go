package sqlite_test

import (
	"context"
	"database/sql"
	"os"
	"regexp"
	"testing"

	"github.com/sqluice/sqluice/internal/test/conformance"
)

// The measures in docs/security.md remove all bytes of forgotten data, while the queue is open.
func TestWhatIsForgottenIsInNoFile(t *testing.T) {
	page, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	statement := regexp.MustCompile(`sqlite3 "\$SQLUICE_DB" '([^']*)'`).FindSubmatch(page)
	if statement == nil {
		t.Fatal("docs/security.md does not say how")
	}
	remove := func(ctx context.Context, store conformance.Store) error {
		pool, err := sql.Open("sqlite", store.(engine).Path())
		if err != nil {
			return err
		}
		defer pool.Close()
		_, err = pool.ExecContext(ctx, string(statement[1]))
		return err
	}
	conformance.RunForgotten(t, opener(t), remove, func(_ context.Context, store conformance.Store, text string) ([]string, error) {
		path := store.(engine).Path()
		return filesWith(text, path, path+"-wal", path+"-shm")
	})
}
