package postgres

import (
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
)

var refusalsTests = []engineTest{
	{"PoolerRefuses", testPoolerRefuses},
}

// An error of PgBouncer that an operator must correct ends a starting runner with PgBouncer's message. It has the same code for
// temporary errors, which the runner waits out.
func testPoolerRefuses(t *testing.T, site *site) {
	address := site.server.Copy(t, site.template)
	pooler := testdb.StartPgBouncer(t, site.server.URL(), nil)
	statements := testdb.StartPgBouncer(t, site.server.URL(), map[string]string{"pool_mode": "statement"})
	for text, refused := range map[string]string{
		"no such user": as(t, pooler.URL(address), "stranger"),
		"unsupported startup parameter: search_path": with(pooler.URL(address), "search_path=x"),
		"pool_mode": statements.URL(address),
	} {
		store, client := open(t, with(refused, "pgbouncer=true"))
		_, err := client.Enqueue(t.Context(), "k", []byte("{}"))
		runErr := newRunner(t, client, jobs.Config{}, handlers{"k": nothing}).Run(t.Context())
		for what, err := range map[string]error{"an enqueue": err, "the runner": runErr} {
			if err == nil || errors.Is(err, jobs.ErrUnavailable) || !strings.Contains(err.Error(), text) {
				t.Errorf("%s, %s: %v", text, what, err)
			}
		}
		must(t, store.Close())
	}

	full := testdb.StartPgBouncer(t, site.server.URL(), map[string]string{"max_client_conn": "1"})
	dial(t, with(full.URL(address), "default_query_exec_mode=exec"))
	_, client := open(t, with(full.URL(address), "pgbouncer=true"))
	if _, err := client.Enqueue(t.Context(), "k", []byte("{}")); !errors.Is(err, jobs.ErrUnavailable) {
		t.Errorf("a full pooler gives %v", err)
	}
}

// PgBouncer's messages, for cases that are hard to cause in a test.
func TestPoolersMessages(t *testing.T) {
	for message, lost := range map[string]bool{
		"no such database: x": false, `database "x" does not exist`: false, "SASL authentication failed": false, "SSL required": false,
		"bouncer config error": false,
		"server login has been failing, try again later (server_login_retry)": true, "query_wait_timeout": true,
		"no more connections allowed (max_client_conn)": true, "the database system is starting up": true, "": true,
	} {
		want(t, message, passing(&pgconn.PgError{Code: codeProtocol, Message: message}), lost)
	}
}
