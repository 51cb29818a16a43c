package sql_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	port "github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

// migrator names the database for a process that only migrates it.
const migrator = "SQLUICE_TEST_MIGRATE"

// shared is the PostgreSQL server of these tests.
var shared testdb.Shared

func TestMain(m *testing.M) {
	path := os.Getenv(migrator)
	if path == "" {
		os.Exit(shared.Run(m))
	}
	if err := migrateWhenTold(path); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// migrateWhenTold prints ready, waits for the end of its input, migrates, and prints the migrations that it ran.
func migrateWhenTold(path string) error {
	fmt.Println("ready")
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	ctx := context.Background()
	store, err := sqlite.Open(ctx, path)
	if err != nil {
		return err
	}
	done, err := port.StoreOf(store).Migrations().Migrate(ctx)
	fmt.Println(strings.Join(done.Names, " "))
	if err != nil {
		return err
	}
	return store.Close()
}
