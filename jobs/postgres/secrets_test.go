package postgres_test

import (
	"context"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/sqluice/sqluice/internal/test/conformance"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/postgres"
)

// Encrypted data is in no table, and in no file of the write-ahead log of a server that only this test uses.
func TestNothingOfWhatIsEncryptedIsStored(t *testing.T) {
	t.Parallel()
	statements := []string{"find_text"}
	if os.Getenv("SQLUICE_TEST_POSTGRES") == "" {
		statements = append(statements, "find_in_wal")
	}
	// On a server without other tests, whose secrets would be in the WAL.
	databases := migratedDatabases(t, testdb.StartPostgres(t))
	open := func(t *testing.T, observers ...*jobs.Observer) conformance.Store {
		return openForConformance(t, databases(t), postgres.WithObserver(jobs.Observers(observers...)))
	}
	conformance.RunSecrets(t, open, func(ctx context.Context, store conformance.Store, text string) (places []string, err error) {
		for _, name := range statements {
			statement, err := os.ReadFile("testdata/" + name + ".sql")
			if err != nil {
				return nil, err
			}
			rows, err := store.(engine).pool.Query(ctx, string(statement), text)
			if err != nil {
				return nil, err
			}
			found, err := pgx.CollectRows(rows, pgx.RowTo[string])
			if err != nil {
				return nil, err
			}
			if len(found) > 0 {
				places = append(places, name)
			}
			places = append(places, found...)
		}
		return places, nil
	})
}
