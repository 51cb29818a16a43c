package recipes_test

import (
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/XSAM/otelsql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/ngrok/sqlmw"
	modernc "modernc.org/sqlite"

	"github.com/sqluice/sqluice/examples/recipes/databasesql"
	"github.com/sqluice/sqluice/examples/recipes/shop"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/postgres"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

// A driver that traces what the application does hides modernc.org/sqlite's.
func TestTracedPoolsOnSQLite(t *testing.T) {
	sql.Register("sqlmw", sqlmw.Driver(&modernc.Driver{}, sqlmw.NullInterceptor{}))
	for name, open := range map[string]func(dsn string) (*sql.DB, error){
		"otelsql": func(dsn string) (*sql.DB, error) { return otelsql.Open("sqlite", dsn) },
		"sqlmw":   func(dsn string) (*sql.DB, error) { return sql.Open("sqlmw", dsn) },
	} {
		t.Run(name, func(t *testing.T) {
			pool, err := open(shop.DSN(filepath.Join(t.TempDir(), "app.db")))
			must(t, err)
			defer func() { must(t, pool.Close()) }()
			if _, ok := pool.Driver().(*modernc.Driver); ok {
				t.Fatal("the driver is not wrapped")
			}
			store, err := sqlite.New(t.Context(), pool)
			must(t, err)
			defer func() { must(t, store.Close()) }()
			checkTraced(t, &shop.Database{DB: pool, Client: jobs.New(store), Join: sqlite.Tx})
		})
	}
}

func TestTracedPoolsOnPostgres(t *testing.T) {
	url := testdb.StartPostgres(t).Database(t)
	store, err := postgres.Open(t.Context(), url)
	must(t, err)
	defer func() { must(t, store.Close()) }()
	config, err := pgx.ParseConfig(url)
	must(t, err)
	pool := otelsql.OpenDB(stdlib.GetConnector(*config))
	defer func() { must(t, pool.Close()) }()
	checkTraced(t, &shop.Database{DB: pool, Client: jobs.New(store), Join: postgres.SQLTx, IsPostgres: true})
}

func checkTraced(t *testing.T, d *shop.Database) {
	t.Helper()
	_, err := d.Client.Migrate(t.Context())
	must(t, err)
	_, err = d.DB.ExecContext(t.Context(), shop.Schema)
	must(t, err)
	checkRecipe(t, database{Database: d}, databasesql.Shop{Database: d})
}
