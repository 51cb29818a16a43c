package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Backup copies the database with VACUUM INTO: a consistent state of one moment, in a file of its own, while readers
// and writers go on. The file must not exist. (Copying the file by other means misses the WAL, and closing such a
// copy's source would drop SQLite's locks.)
func (s *Store) Backup(ctx context.Context, path string) error {
	if path == "" {
		return errors.New("a path to a file is needed")
	}
	// Not to be taken for a URI or a memory database by SQLite.
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	if _, err := os.Stat(path); err == nil {
		return fmt.Errorf("%s: %w", path, os.ErrExist)
	} else if !os.IsNotExist(err) {
		return err
	}
	// A connection of its own: it must be one that may write, and the writer's would hold up every write meanwhile.
	pool, err := sql.Open("sqlite", dsn(s.path, s.options, false))
	if err != nil {
		return err
	}
	_, err = pool.ExecContext(ctx, control("backup"), path)
	return errors.Join(translate(err), pool.Close())
}
