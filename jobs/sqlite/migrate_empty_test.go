package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/sqluice/sqluice/jobs"
)

func openEmpty(t *testing.T, path string) *jobs.Client {
	t.Helper()
	store, err := openBackend(t.Context(), path, MigrateEmpty())
	must(t, err)
	t.Cleanup(func() { must(t, store.Close()) })
	return jobs.New(store)
}

func TestMigrateEmpty(t *testing.T) {
	t.Run("no file", func(t *testing.T) {
		enqueue(t, openEmpty(t, filepath.Join(t.TempDir(), "jobs.db")), "k")
	})
	t.Run("an empty file", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "jobs.db")
		must(t, os.WriteFile(path, nil, 0o600))
		enqueue(t, openEmpty(t, path), "k")
	})
	t.Run("a first migration that was cut off", func(t *testing.T) {
		store, client := queue(t)
		_, err := store.Migrations().MigrateDown(t.Context())
		must(t, err)
		wantMarkRemoved(t, store)
		must(t, client.CheckSchema(t.Context()))
	})
	t.Run("a mark that was left", func(t *testing.T) {
		store, _ := queue(t)
		wantMarkRemoved(t, store)
	})
	t.Run("a mark beside a database of another program", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "app.db")
		exec(t, plain(t, path), "foreign_table")
		side := sideFolderOf(path)
		for _, name := range []string{migrateFile, unfinishedFile} {
			file, err := side.open(name)
			must(t, err)
			must(t, file.Close())
		}
		var schema *jobs.SchemaError
		if err := openEmpty(t, path).CheckSchema(t.Context()); !errors.As(err, &schema) {
			t.Errorf("the schema gives %v", err)
		}
	})
	t.Run("an older schema", func(t *testing.T) {
		store, _ := queue(t)
		_, err := store.Migrations().MigrateDown(t.Context())
		must(t, err)
		var schema *jobs.SchemaError
		if err := openEmpty(t, store.path).CheckSchema(t.Context()); !errors.As(err, &schema) {
			t.Errorf("the schema gives %v", err)
		}
	})
	for _, name := range []string{"foreign_table", "foreign_application", "foreign_version"} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "app.db")
			exec(t, plain(t, path), name)
			var schema *jobs.SchemaError
			if err := openEmpty(t, path).CheckSchema(t.Context()); !errors.As(err, &schema) {
				t.Errorf("the schema gives %v", err)
			}
			if _, err := os.Stat(path + "-sqluice"); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("a folder was left beside a database of another program: %v", err)
			}
		})
	}
}

// wantMarkRemoved leaves the mark of a first migration, and fails unless the next open that may migrate removes it.
func wantMarkRemoved(t *testing.T, store *backend) {
	t.Helper()
	file, err := store.side.open(unfinishedFile)
	must(t, err)
	must(t, file.Close())
	enqueue(t, openEmpty(t, store.path), "k")
	if there, err := store.side.exists(unfinishedFile); there || err != nil {
		t.Errorf("the mark of the first migration is left: %t, %v", there, err)
	}
}
