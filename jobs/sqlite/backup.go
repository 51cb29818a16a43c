package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/sqluice/sqluice/internal/queue/core"
)

// backups copies a database.
type backups struct {
	files   *files
	options options
}

// Backup copies the database with VACUUM INTO: the state of one moment, while readers and writers continue. The file must not exist,
// and gets the mode of the database. It appears when it is complete; until then the copy is in a separate folder beside it,
// ".sqluice-backup-" with a number. The next backup or restore removes the folder of a killed process.
//
// Copying the file by other means misses the WAL, and closing such a copy's source would drop SQLite's locks.
func (b backups) Backup(ctx context.Context, path string) (err error) {
	if path == "" {
		return errors.New("the path of a file is missing")
	}
	path, err = filepath.Abs(path) // SQLite takes an absolute path for nothing but a path
	if err != nil {
		return err
	}
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%s: %w", path, os.ErrExist)
	}
	if err := checkBackupName(path); err != nil {
		return err
	}
	if err := checkNotStale(path); err != nil {
		return err
	}
	draft, remove, err := newDraft(path, backupPrefix)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	if err := b.backupInto(ctx, draft); err != nil {
		return core.EndFirst(ctx, err)
	}
	return b.publish(draft, path)
}

// BackupTo writes to w a copy of one moment, as Backup makes it. The copy is in a folder beside the database until all of it is
// written. The end of ctx takes effect between two writes.
func (b backups) BackupTo(ctx context.Context, w io.Writer) (err error) {
	draft, remove, err := newDraft(b.files.main.path, backupPrefix)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	if err := b.backupInto(ctx, draft); err != nil {
		return core.EndFirst(ctx, err)
	}
	file, err := os.Open(draft)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, readUntil{ctx, file})
	return errors.Join(err, file.Close())
}

// readUntil is a reader that fails after a context's end.
type readUntil struct {
	ctx context.Context
	io.Reader
}

func (r readUntil) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, core.EndOf(r.ctx)
	}
	return r.Reader.Read(p)
}

// checkBackupName refuses a name that SQLite or this package gives to files beside a database. The next program that opens
// the database would take the backup for such a file and delete it.
func checkBackupName(path string) error {
	for _, suffix := range []string{"-wal", "-shm", "-journal", "-sqluice"} {
		if strings.HasSuffix(path, suffix) {
			return fmt.Errorf("%s: names that end in %s belong to files beside a database: choose another name", path, suffix)
		}
	}
	return nil
}

// backupInto copies the database. Its path must lead to the file that the store has open, before and after.
func (b backups) backupInto(ctx context.Context, path string) error {
	if err := b.files.intact(); err != nil {
		return err
	}
	// A separate connection: it must be able to write, and the writer's would delay every write meanwhile.
	pool, err := sql.Open("sqlite", dsn(b.files.main.path, b.options, false))
	if err != nil {
		return err
	}
	_, err = pool.ExecContext(ctx, control("backup"), path)
	return errors.Join(translate(err), pool.Close(), b.files.intact())
}

// The name prefixes of the folders that hold a copy until it is complete, and the name of the file in such a folder that its process has
// locked.
const (
	backupPrefix  = ".sqluice-backup-"
	restorePrefix = ".sqluice-restore-"
	draftLock     = ".lock"
)

// newDraft creates a folder beside a path, and returns the name of the copy in it and a function that removes both. Before that it removes
// the folders of killed processes.
func newDraft(path, prefix string) (draft string, remove func() error, err error) {
	dir := filepath.Dir(path)
	removeAbandoned(dir)
	for {
		folder, err := os.MkdirTemp(dir, prefix)
		if err != nil {
			return "", nil, translateSystem(err)
		}
		lock, held, err := lockDraft(folder)
		if err != nil {
			return "", nil, errors.Join(translateSystem(err), os.RemoveAll(folder))
		}
		if !held { // another process took the folder for an abandoned one before it was locked, and removes it
			continue
		}
		draft := filepath.Join(folder, filepath.Base(path))
		return draft, func() error { return errors.Join(lock.Close(), removeDraft(folder, draft)) }, nil
	}
}

// lockDraft creates the file in a new folder that this process locks while it uses the folder. held is false if another process has the
// lock, or has removed the file. On a file system without locks the folder has no such file, and no process removes it.
func lockDraft(folder string) (lock *os.File, held bool, err error) {
	path := filepath.Join(folder, draftLock)
	lock, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	taken, fault := tryLock(lock)
	if fault != nil {
		return lock, true, os.Remove(path)
	}
	now, err := os.Stat(path)
	own, err2 := lock.Stat()
	if !taken || err != nil || err2 != nil || !os.SameFile(now, own) {
		return nil, false, lock.Close()
	}
	return lock, true, nil
}

// removeAbandoned removes the folders of backups and restores whose processes have ended: those with a lock file that no process has
// locked. It keeps a folder that it may not read or remove, such as another user's: that must not stop a backup.
func removeAbandoned(dir string) {
	root, err := os.OpenRoot(dir) // no link leads out of a root
	if err != nil {
		return
	}
	defer root.Close()
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, entry := range entries {
		name := entry.Name()
		if !entry.IsDir() || !strings.HasPrefix(name, backupPrefix) && !strings.HasPrefix(name, restorePrefix) {
			continue
		}
		info, err := root.Lstat(filepath.Join(name, draftLock))
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		lock, err := root.OpenFile(filepath.Join(name, draftLock), os.O_RDWR, 0)
		if err != nil {
			continue
		}
		if taken, err := tryLock(lock); err == nil && taken {
			_ = removeContents(root, name) // the next run tries again
		}
		_ = lock.Close()
		_ = root.Remove(name) // the WAL is empty once its contents are in the database
	}
}

// removeContents removes the files in a folder, the lock file last: a folder without one never counts as abandoned.
func removeContents(root *os.Root, name string) error {
	folder, err := root.Open(name)
	if err != nil {
		return err
	}
	names, err := folder.Readdirnames(-1)
	if err := errors.Join(err, folder.Close()); err != nil {
		return err
	}
	for _, file := range names {
		if file != draftLock {
			if err := root.Remove(filepath.Join(name, file)); err != nil {
				return err
			}
		}
	}
	return root.Remove(filepath.Join(name, draftLock))
}

// removeDraft removes the files that a backup made, and its folder.
func removeDraft(folder, draft string) error {
	var errs []error
	for _, path := range []string{draft, draft + "-journal", filepath.Join(folder, draftLock), folder} {
		if err := os.Remove(path); !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// publish gives a complete file the mode of the database and its name, which must be free. A hard link replaces no
// file; where the file system has no links, publish copies the file.
func (b backups) publish(draft, path string) (err error) {
	database, err := os.Stat(b.files.main.path)
	if err != nil {
		return err
	}
	file, err := os.Open(draft)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := errors.Join(file.Chmod(database.Mode().Perm()), file.Sync()); err != nil {
		return translateSystem(err)
	}
	if err = os.Link(draft, path); err == nil || errors.Is(err, os.ErrExist) {
		return err
	}
	return copyTo(file, path, database.Mode().Perm())
}

// copyTo copies a file to a new one, which it removes after an error.
func copyTo(from *os.File, path string, mode os.FileMode) error {
	to, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	if err = errors.Join(err, to.Chmod(mode), to.Sync()); err != nil {
		err = errors.Join(translateSystem(err), removeIfSame(path, to))
	}
	return errors.Join(err, to.Close())
}

// removeIfSame removes a file if the path still leads to the open one.
func removeIfSame(path string, file *os.File) error {
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(removeSame(root, filepath.Base(path), file), root.Close())
}
