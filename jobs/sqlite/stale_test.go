package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// Where a database is gone but its WAL, index or journal is left, neither a new database nor a backup takes its place.
func TestStaleFilesAreRefusedByName(t *testing.T) {
	_, client := queue(t)
	for _, suffix := range []string{"-wal", "-shm", "-journal"} {
		path := filepath.Join(t.TempDir(), "gone.db")
		must(t, os.WriteFile(path+suffix, []byte("jobs"), 0o600))
		refused := func(what string, err error) {
			t.Helper()
			var stale *StaleError
			if !errors.As(err, &stale) || stale.Path != path+suffix {
				t.Errorf("%s beside %s gives %v", what, suffix, err)
			}
		}
		for name, opts := range map[string][]Option{"an open": nil, "an open that makes the tables": {MigrateEmpty()}} {
			store, err := openBackend(t.Context(), path, opts...)
			refused(name, err)
			if err == nil {
				must(t, store.Close())
			}
		}
		refused("a backup", client.Backup(t.Context(), path))
		if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("a file was made beside %s: %v", suffix, err)
		}
		if left, err := os.ReadFile(path + suffix); err != nil || string(left) != "jobs" {
			t.Errorf("%s holds %q, %v", suffix, left, err)
		}
		must(t, os.Remove(path+suffix))
		must(t, client.Backup(t.Context(), path))
	}
}

// An empty file beside a WAL also is a database that is gone: SQLite would delete the WAL.
func TestAnEmptyFileBesideAWAL(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gone.db")
	must(t, errors.Join(os.WriteFile(path, nil, 0o600), os.WriteFile(path+"-wal", []byte("jobs"), 0o600)))
	var stale *StaleError
	for _, opts := range [][]Option{nil, {MustExist()}} {
		if _, err := openBackend(t.Context(), path, opts...); !errors.As(err, &stale) {
			t.Errorf("the open gives %v", err)
		}
	}
}

func TestABackupHasTheDatabasesMode(t *testing.T) {
	for _, mode := range []os.FileMode{0o600, 0o640, 0o666} {
		t.Run(fmt.Sprint(mode), func(t *testing.T) {
			store, client := queue(t)
			must(t, os.Chmod(store.path, mode))
			path := filepath.Join(t.TempDir(), "copy.db")
			must(t, client.Backup(t.Context(), path))
			info, err := os.Stat(path)
			must(t, err)
			if info.Mode().Perm() != mode {
				t.Errorf("the mode of the backup is %s", info.Mode().Perm())
			}
			entries, err := os.ReadDir(filepath.Dir(path))
			must(t, err)
			if len(entries) != 1 {
				t.Errorf("beside the backup there is %v", entries)
			}
		})
	}
}
