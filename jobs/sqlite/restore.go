package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

// Restore replaces a database with a backup, and keeps the old database: kept is its new name, "" if there was none. The backup, which
// stays, must be a whole queue of this schema or an older one: Restore checks its pages. No process, this one included, may have the
// database open, and no worker may live; otherwise Restore returns [jobs.ErrBusy] and changes nothing. What was enqueued or ended after the
// backup is in the kept file only: jobs that ended since run again, and ids that were assigned since are assigned again.
//
// Copying the file over the old one by other means leaves SQLite's -wal file beside it, which SQLite then takes for the new file's.
func Restore(ctx context.Context, backup, path string) (kept string, err error) {
	if kept, err = restoreFrom(ctx, backup, path); err != nil {
		return "", fmt.Errorf("restore %s: %w", path, err)
	}
	return kept, nil
}

func restoreFrom(ctx context.Context, backup, path string) (kept string, err error) {
	if err := lockByHandle(); err != nil {
		return "", err
	}
	if backup, err = filepath.Abs(backup); err != nil {
		return "", err
	}
	if path, err = resolve(path); err != nil {
		return "", err
	}
	if err := checkBackup(ctx, backup, path); err != nil {
		return "", fmt.Errorf("the backup %s: %w", backup, err)
	}
	old, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := checkNotStale(path); err != nil {
			return "", err
		}
		return "", withCopy(backup, path, nil, func(draft string) error { return nameFile(draft, path) })
	}
	if err != nil {
		return "", err
	}
	if !old.Mode().IsRegular() {
		return "", errors.New("it is not a regular file")
	}
	if err := checkSingleName(path, old); err != nil {
		return "", err
	}
	side := sideFolderOf(path)
	unlock, err := side.lock(ctx, migrateFile) // against a process that would create a queue meanwhile
	if err != nil {
		return "", err
	}
	defer unlock()
	if err := checkUnused(ctx, path, workerLocks{side}); err != nil {
		return "", err
	}
	err = withCopy(backup, path, old, func(draft string) error {
		if err := checkUnused(ctx, path, workerLocks{side}); err != nil { // the copy may have taken long
			return err
		}
		kept, err = replaceWith(draft, path)
		return err
	})
	return kept, err
}

// replaceWith moves a file to the place of a database, which gets another name: only between two renames is there no file.
func replaceWith(draft, path string) (kept string, err error) {
	kept = path + ".before-restore-" + time.Now().UTC().Format("20060102T150405.000Z")
	if err := moveFiles(path, kept); err != nil {
		return "", err
	}
	if err := nameFile(draft, path); err != nil {
		if back := moveFiles(kept, path); back != nil {
			return "", fmt.Errorf("%w; the database is in %s, and could not be moved back: %w", err, kept, back)
		}
		return "", err
	}
	return kept, nil
}

// checkBackup returns an error unless a file is a backup of a queue.
func checkBackup(ctx context.Context, backup, path string) (err error) {
	info, err := os.Stat(backup)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errors.New("it is not a regular file")
	}
	if there, err := os.Stat(path); err == nil && os.SameFile(info, there) {
		return errors.New("it is the database itself")
	}
	for _, suffix := range []string{"-wal", "-journal"} {
		if info, err := os.Stat(backup + suffix); err == nil && info.Size() > 0 {
			return fmt.Errorf("%s is beside it, so a program has it open, or it is a part of a database: use what `sqluice backup` wrote", backup+suffix)
		}
	}
	pool, err := openAlone(backup)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	if err := checkPages(ctx, pool); err != nil {
		return err
	}
	if err := checkEncoding(ctx, pool); err != nil {
		return err
	}
	found, err := schemaOf(ctx, pool)
	switch {
	case err != nil:
		return err
	case found.Have == 0:
		return errors.New("it holds no queue")
	case found.Newer():
		return found.Check()
	}
	return nil
}

// openAlone opens a database file for reading without locks, and without SQLite's files beside it.
func openAlone(path string) (*sql.DB, error) {
	name := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: "mode=ro&immutable=1"}
	return sql.Open("sqlite", name.String())
}

// checkPages checks all pages and indexes of a database.
func checkPages(ctx context.Context, pool *sql.DB) error {
	found, err := ask[string](ctx, pool, "integrity_check")
	if err == nil && found != "ok" {
		return fmt.Errorf("it is damaged: %s", found)
	}
	return err
}

// checkUnused returns [jobs.ErrBusy] while a process uses the database. Afterwards all that was written is in the file itself,
// unless it is damaged.
func checkUnused(ctx context.Context, path string, locks workerLocks) (err error) {
	entries, err := locks.side.entries()
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if _, ok := workerKey(entry.Name()); !ok {
			continue
		}
		held, err := locks.held(entry.Name())
		if err != nil {
			return err
		}
		if held {
			return fmt.Errorf("%w: a worker lives: stop all workers and services first", jobs.ErrBusy)
		}
	}
	if ok, err := isDatabase(path); !ok || err != nil {
		return err // SQLite would delete a WAL beside it
	}
	pool, err := openPool(path, options{mustExist: true}, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	// SQLite leaves WAL mode only if no other connection has the file open.
	mode, err := ask[string](ctx, pool, "leave_wal")
	switch {
	case errors.Is(err, jobs.ErrBusy) || err == nil && mode == "wal":
		return fmt.Errorf("%w: another process has it open: stop all workers and services first", jobs.ErrBusy)
	case err != nil && ctx.Err() != nil:
		return err
	}
	return nil // a damaged file is moved as it is
}

// isDatabase reports whether a file begins as SQLite's do: https://www.sqlite.org/fileformat.html#the_database_header.
func isDatabase(path string) (bool, error) {
	file, err := os.Open(path)
	if err != nil {
		return false, err
	}
	const magic = "SQLite format 3\x00"
	begin := make([]byte, len(magic))
	_, err = io.ReadFull(file, begin)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil // too short
	}
	return string(begin) == magic, errors.Join(err, file.Close())
}

// held reports whether a process holds a worker's lock. It keeps the file: a rescuer needs it.
func (l workerLocks) held(name string) (held bool, err error) {
	file, err := l.side.openExisting(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	free, err := tryLock(file)
	return !free, errors.Join(err, file.Close())
}

// moveFiles gives a database and SQLite's files beside it another name, which must be free: all of them, or none.
func moveFiles(from, to string) error {
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		if _, err := os.Lstat(to + suffix); err == nil {
			return fmt.Errorf("%s: %w", to+suffix, os.ErrExist)
		}
	}
	var moved []string
	for _, suffix := range []string{"-wal", "-shm", "-journal", ""} { // the database last: without it the others are refused by name
		err := os.Rename(from+suffix, to+suffix)
		switch {
		case err == nil:
			moved = append(moved, suffix)
		case !errors.Is(err, fs.ErrNotExist):
			for _, suffix := range moved {
				err = errors.Join(err, os.Rename(to+suffix, from+suffix))
			}
			return err
		}
	}
	return nil
}

// withCopy copies a backup to a file beside a path, calls fn with its name, and removes what is left of the copy. The copy gets the mode
// and the owner of the old file, if there was one.
func withCopy(backup, path string, old os.FileInfo, fn func(draft string) error) (err error) {
	from, err := os.Open(backup)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	if old == nil {
		if old, err = from.Stat(); err != nil {
			return err
		}
	}
	draft, remove, err := newDraft(path, restorePrefix)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	if err := copyTo(from, draft, old.Mode().Perm()); err != nil {
		return err
	}
	file, err := os.Open(draft)
	if err != nil {
		return err
	}
	if err := errors.Join(adopt(file, old.Mode().Perm(), old), file.Sync(), file.Close()); err != nil {
		return translateSystem(err)
	}
	return fn(draft)
}

// nameFile gives a complete file its name, which must be free.
func nameFile(draft, path string) error {
	if err := os.Link(draft, path); err == nil || errors.Is(err, os.ErrExist) {
		return err
	}
	return os.Rename(draft, path) // for a file system without links
}
