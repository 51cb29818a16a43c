package sqlite_test

import (
	"bytes"
	"context"
	"database/sql"
	"os"
	"regexp"
	"testing"

	"github.com/sqluice/sqluice/internal/conformance"
)

// What docs/security.md says removes all bytes of what was forgotten, while the queue is open.
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
	conformance.RunForgotten(t, opener(t), remove, func(_ context.Context, store conformance.Store, text string) (places []string, err error) {
		path := store.(engine).Path()
		for _, file := range []string{path, path + "-wal", path + "-shm"} {
			data, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			if bytes.Contains(data, []byte(text)) {
				places = append(places, file)
			}
		}
		return places, nil
	})
}
