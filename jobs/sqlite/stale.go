package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// StaleError says that a database file is missing or empty while one of SQLite's files that belonged to it still
// exists. That file may hold the last acknowledged jobs, and SQLite would delete it or mix it into the new database.
type StaleError struct {
	Path string // the path of the remaining file
}

func (e *StaleError) Error() string {
	return e.Path + " was left by a database that is gone: bring that database back, or, if its jobs are not needed, move the file away"
}

// olderWAL returns the path of the WAL at path if the database was written after it, and "" otherwise or without a WAL. SQLite leaves
// such a WAL when a process dies after a checkpoint; otherwise another database was there before.
func olderWAL(path string) string {
	main, err := os.Lstat(path)
	if err != nil {
		return ""
	}
	wal, err := os.Lstat(path + "-wal")
	if err != nil || wal.Size() == 0 || !wal.ModTime().Before(main.ModTime()) {
		return ""
	}
	return path + "-wal"
}

// suspectFor is the time after the opening of a database in which its damage is blamed on a WAL that was older than it.
const suspectFor = 10 * time.Minute

// suspectWAL is a WAL that was older than the database at its opening. The zero value is none.
type suspectWAL struct {
	path   string
	opened time.Time
}

// name adds the WAL to err if err says that the database is damaged, and it was opened not long ago.
func (w suspectWAL) name(err error) error {
	if w.path == "" || !errors.Is(err, errCorrupt) || time.Since(w.opened) > suspectFor {
		return err
	}
	return fmt.Errorf("%s was older than the database: it was probably left by another one, as by `cp` of a backup over a database, and has damaged this one. Put the backup in its place once more, by `sqluice restore` (%w)", w.path, err)
}

// checkNotStale returns a [StaleError] if there is no database at path, or an empty file, and SQLite's files of an
// earlier database are still beside it.
func checkNotStale(path string) error {
	size, err := sizeOf(path)
	if err != nil || size > 0 {
		return err
	}
	suffixes := []string{"-wal"} // SQLite itself handles the journal beside an empty file
	if size == noFile {
		suffixes = []string{"-wal", "-shm", "-journal"}
	}
	for _, suffix := range suffixes {
		_, err := os.Lstat(path + suffix)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		// Another process may be creating the database. Then the database was there before the file just found.
		if again, err := sizeOf(path); err != nil || again != size {
			return err
		}
		return &StaleError{Path: path + suffix}
	}
	return nil
}

// noFile is the size of a file that does not exist.
const noFile = -1

func sizeOf(path string) (int64, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return noFile, nil
	}
	if err != nil {
		return 0, fmt.Errorf("look for a database: %w", err)
	}
	return info.Size(), nil
}
