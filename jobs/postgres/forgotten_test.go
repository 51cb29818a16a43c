package postgres_test

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/sqluice/sqluice/internal/test/conformance"
)

// The measures in docs/security.md remove forgotten data from the files of the tables and from the statistics.
func TestWhatIsForgottenIsInNoFile(t *testing.T) {
	t.Parallel()
	if os.Getenv("SQLUICE_TEST_POSTGRES") != "" {
		t.Skip("the server's files are searched")
	}
	page, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	statement := regexp.MustCompile("(?s)```sql\n(VACUUM [^`]*)```").FindSubmatch(page)
	if statement == nil {
		t.Fatal("docs/security.md does not say how")
	}
	search, err := os.ReadFile("testdata/find_in_files.sql")
	if err != nil {
		t.Fatal(err)
	}
	remove := func(ctx context.Context, store conformance.Store) error {
		for part := range strings.SplitSeq(strings.TrimSpace(string(statement[1])), "\n") {
			if _, err := store.(engine).pool.Exec(ctx, part); err != nil {
				return err
			}
		}
		return nil
	}
	conformance.RunForgotten(t, opener(t), remove, func(ctx context.Context, store conformance.Store, text string) ([]string, error) {
		pool := store.(engine).pool
		if _, err := pool.Exec(ctx, "CHECKPOINT"); err != nil {
			return nil, err
		}
		rows, err := pool.Query(ctx, string(search), text)
		if err != nil {
			return nil, err
		}
		return pgx.CollectRows(rows, pgx.RowTo[string])
	})
}
