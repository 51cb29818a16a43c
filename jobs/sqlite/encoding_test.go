package sqlite

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
)

// A file whose encoding is not UTF-8 is refused by name.
func TestEncodingIsRefused(t *testing.T) {
	for _, encoding := range []string{"UTF-16le", "UTF-16be"} {
		path := filepath.Join(t.TempDir(), "jobs.db")
		pool, err := sql.Open("sqlite", path+"?_pragma=encoding('"+encoding+"')")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := pool.ExecContext(t.Context(), "CREATE TABLE own (v TEXT)"); err != nil {
			t.Fatal(err)
		}
		_, openErr := openBackend(t.Context(), path)
		_, newErr := newBackend(t.Context(), pool)
		for what, err := range map[string]error{"Open": openErr, "New": newErr} {
			if err == nil || !strings.Contains(err.Error(), encoding) || !strings.Contains(err.Error(), "must be UTF-8") {
				t.Errorf("%s gives %v", what, err)
			}
		}
		if err := pool.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
