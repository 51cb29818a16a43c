package sqlite

import (
	"context"
	"fmt"
	"os"
)

// Backup copies the database with VACUUM INTO: a consistent state of one moment, in a file of its own, while readers
// and writers go on. The file must not exist. (Copying the file by other means misses the WAL, and closing such a
// copy's source would drop SQLite's locks.)
func (s *Store) Backup(ctx context.Context, path string) error {
	if _, err := os.Stat(path); err == nil {
		return fmt.Errorf("%s: %w", path, os.ErrExist)
	} else if !os.IsNotExist(err) {
		return err
	}
	_, err := s.readDB.ExecContext(ctx, control("backup"), path)
	return translate(err)
}
