package costs

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/sqluice/sqluice/internal/test/gates"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/postgres"
)

// goldenPostgres is the major version whose log and pages are compared: others write and read a little more or less.
const goldenPostgres = 15

// logMore is the allowed variation of the figures by the server's own writes to its log: a page is pruned in passing,
// or not.
const logMore = 0.05

// claimMore is the allowed variation of the pages by the server's own bookkeeping of free space and visible pages.
const claimMore = 0.1

// TestPostgres has a separate cluster for itself.
func TestPostgres(t *testing.T) {
	cluster := testdb.StartCluster(t, map[string]string{
		"autovacuum": "off", "full_page_writes": "off", "checkpoint_timeout": "1d", "max_wal_size": "16GB",
	})
	e := onPostgres{cluster, cluster.Migrated(t, func(url string) (jobs.Store, error) { return postgres.Open(t.Context(), url) })}
	conn := connect(t, cluster.URL())
	var version int
	must(t, conn.QueryRow(t.Context(), `SELECT CAST(current_setting('server_version_num') AS INT) / 10000`).Scan(&version))
	measure(t, engine{
		name: "postgres", lab: e.lab, claim: e.claim, logMore: logMore, claimMore: claimMore, another: version != goldenPostgres,
	})
}

type onPostgres struct {
	*testdb.Cluster
	template string
}

func (e onPostgres) lab(t *testing.T) *lab {
	t.Helper()
	url := e.Copy(t, e.template)
	config, err := pgxpool.ParseConfig(url)
	must(t, err)
	var trips atomic.Int64
	config.ConnConfig.DialFunc = dialCounting(&trips)
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	must(t, err)
	t.Cleanup(pool.Close)
	store, err := postgres.New(pool, postgres.WithLogger(quiet()))
	must(t, err)
	t.Cleanup(func() { must(t, store.Close()) })
	l := newLab(store, trips.Load)
	conn := connect(t, url)
	l.crashed = func(t *testing.T, enqueue func()) {
		t.Helper()
		_, err := conn.Exec(t.Context(), `ALTER TABLE sqluice_jobs ALTER COLUMN crashes SET DEFAULT 1`)
		must(t, err)
		enqueue()
	}
	l.logged = func(t *testing.T) (bytes int64) {
		t.Helper()
		must(t, conn.QueryRow(t.Context(), `SELECT CAST(pg_current_wal_insert_lsn() - '0/0' AS BIGINT)`).Scan(&bytes))
		return bytes
	}
	return l
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	must(t, err)
	t.Cleanup(func() { must(t, conn.Close(context.Background())) })
	return conn
}

// claim counts the blocks that each statement of a cycle reads, as the server reports them, with the settings and the
// plans of the engine's own transactions.
func (e onPostgres) claim(t *testing.T, besides ...string) []figure {
	t.Helper()
	url := e.Copy(t, e.template)
	conn := connect(t, url)
	run := func(statement string) {
		t.Helper()
		_, err := conn.Exec(t.Context(), statement, pgx.QueryExecModeSimpleProtocol)
		must(t, err)
	}
	for _, file := range append([]string{"postgres.wanted.sql"}, besides...) {
		run(read(t, file))
	}
	run(`ANALYZE`) // and no VACUUM: which pages it finds visible to all depends on the server's other activity
	conn = connect(t, url)
	for _, setting := range []string{"enable_seqscan = off", "enable_bitmapscan = off", "jit = off", "plan_cache_mode = force_generic_plan"} {
		run(`SET ` + setting)
	}
	run(`BEGIN`)
	defer run(`ROLLBACK`)
	root, err := gates.Root()
	must(t, err)
	statements, err := gates.Statements(filepath.Join(root, "db", "postgres"))
	must(t, err)
	texts := map[string]string{}
	for _, s := range statements {
		texts[s.Name] = s.SQL
	}
	var list []figure
	for _, step := range steps() {
		run(`PREPARE step AS ` + texts[step.name])
		var text string
		must(t, conn.QueryRow(t.Context(), `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE step`+literals(step.args),
			pgx.QueryExecModeSimpleProtocol).Scan(&text))
		run(`DEALLOCATE step`)
		blocks, err := blocksOf(text)
		must(t, err)
		list = append(list, figure{step.name, blocks})
	}
	// They were found, not only searched for.
	var done int64
	must(t, conn.QueryRow(t.Context(), `SELECT COUNT(*) FROM sqluice_jobs WHERE worker_id = 1 AND status = 'done'`).Scan(&done))
	if done != claimed {
		t.Fatalf("%d jobs were claimed and ended, not %d", done, claimed)
	}
	return list
}

// literals returns a statement's arguments as SQL; the fields of its struct stand in the order of its parameters.
func literals(args any) string {
	if args == nil {
		return ""
	}
	value := reflect.ValueOf(args)
	list := make([]string, value.NumField())
	for i := range list {
		switch field := value.Field(i).Interface().(type) {
		case string:
			list[i] = "'" + field + "'"
		default:
			list[i] = fmt.Sprint(field)
		}
	}
	return "(" + strings.Join(list, ", ") + ")"
}

func blocksOf(explained string) (float64, error) {
	var answer []struct {
		Plan struct {
			Hit  float64 `json:"Shared Hit Blocks"`
			Read float64 `json:"Shared Read Blocks"`
		}
	}
	if err := json.Unmarshal([]byte(explained), &answer); err != nil {
		return 0, err
	}
	if len(answer) != 1 {
		return 0, fmt.Errorf("%d plans", len(answer))
	}
	return answer[0].Plan.Hit + answer[0].Plan.Read, nil
}
