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
	// SQLite takes an empty file for none. This one is nobody else's, so it can be removed when the backup fails: half a
	// backup could be taken for one, and would be in the way of the next.
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s: %w", path, os.ErrExist)
	}
	if err != nil {
		return err
	}
	err = errors.Join(file.Close(), s.backupInto(ctx, path))
	if err != nil {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

func (s *Store) backupInto(ctx context.Context, path string) error {
	// A connection of its own: it must be one that may write, and the writer's would hold up every write meanwhile.
	pool, err := sql.Open("sqlite", dsn(s.path, s.options, false))
	if err != nil {
		return err
	}
	_, err = pool.ExecContext(ctx, control("backup"), path)
	return errors.Join(translate(err), pool.Close())
}
