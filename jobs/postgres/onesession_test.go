package postgres

import (
	"encoding/json"
	"strings"
	"testing"
)

// A server whose clients all share one session is refused by name, before anything is written to it, also when the URL says that a
// pooler is in front of it.
func TestOneSessionIsRefused(t *testing.T) {
	t.Parallel()
	server := SharedServer.Postgres(t)
	for name, params := range map[string][]string{"as a server": nil, "as a pooler": {"pgbouncer=true"}} {
		t.Run(name, func(t *testing.T) {
			url := server.Database(t)
			exec(t, dial(t, url), "like_pglite", databaseOf(t, url))
			_, client := open(t, with(url, params...))
			_, migrateErr := client.Migrate(t.Context())
			_, enqueueErr := client.Enqueue(t.Context(), "k", json.RawMessage(`{}`))
			for verb, err := range map[string]error{
				"migrate": migrateErr, "enqueue": enqueueErr, "check": client.CheckSchema(t.Context()),
			} {
				if err == nil || !strings.Contains(err.Error(), "the server is PGlite") {
					t.Errorf("%s gives %v", verb, err)
				}
			}
			want(t, "tables", scan[int](t, dial(t, url), "count_tables"), 0)
		})
	}
}

func TestServersWithSessions(t *testing.T) {
	for version, refused := range map[string]bool{
		"PostgreSQL 18.6 (PGlite 0.5.14) on wasm32-unknown-emscripten, compiled by emcc (Emscripten) 6.0.5, 32-bit":       true,
		"PostgreSQL 16.4 on x86_64-pc-linux-gnu, compiled by emcc (Emscripten gcc/clang-like replacement) 3.1.61, 32-bit": true,
		"PostgreSQL 15.14 (Debian 15.14-0+deb12u1) on x86_64-pc-linux-gnu, compiled by gcc (Debian 12.2.0-14) 12.2.0":     false,
	} {
		if err := checkServerSessions(version); (err != nil) != refused {
			t.Errorf("%s: %v", version, err)
		}
	}
}
