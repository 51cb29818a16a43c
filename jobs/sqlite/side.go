package sqlite

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sqluice/sqluice/internal/queue/outage"
)

// sideFolder is the folder of lock files beside a database. Other users may write to it, or to its parent folder, so
// this package trusts nothing in it: it opens every file below a handle of the folder, refuses a file that is not a
// plain one with a single name, and sets modes and owners on handles of files that it has just created.
type sideFolder struct {
	path     string // the path of the folder
	database string // whose mode and owner new files get
}

// sideFolderOf returns the folder that belongs to a database.
func sideFolderOf(database string) sideFolder {
	return sideFolder{path: database + "-sqluice", database: database}
}

// workerPrefix and workerSuffix enclose a worker's key in the name of its lock file.
const (
	workerPrefix = "worker-"
	workerSuffix = ".lock"
)

// isSideFile reports whether a name has the form of this package's files in the folder.
func isSideFile(name string) bool {
	switch name {
	case gateFile, bellFile, migrateFile, recountFile, unfinishedFile:
		return true
	}
	_, ok := workerKey(name)
	return ok
}

// The files of the folder, besides those of workers.
const (
	gateFile       = "gate"
	bellFile       = "bell"
	migrateFile    = "migrate"
	recountFile    = "recount"
	unfinishedFile = "unfinished" // exists from the beginning to the end of the first migration
)

// open opens a file of the folder and creates both if missing. Like SQLite's own files, they get the mode of the
// database and, if the process may set it, its owner: other users of the database need them.
func (s sideFolder) open(name string) (file *os.File, err error) {
	err = s.within(true, func(root *os.Root) error {
		file, err = s.openIn(root, name)
		return err
	})
	return file, translateSystem(err)
}

// openExisting opens a file of the folder. The error is fs.ErrNotExist when the file or the folder is missing.
func (s sideFolder) openExisting(name string) (file *os.File, err error) {
	err = s.within(false, func(root *os.Root) error {
		file, err = openPlain(root, name)
		return err
	})
	return file, err
}

// create creates a file of the folder, which must not exist.
func (s sideFolder) create(name string) (file *os.File, err error) {
	err = s.within(true, func(root *os.Root) error {
		file, err = s.createIn(root, name)
		return err
	})
	return file, translateSystem(err)
}

// remove removes a file of the folder if the name still belongs to the open file. A missing file is no error.
func (s sideFolder) remove(name string, file *os.File) error {
	return withoutMissing(s.within(false, func(root *os.Root) error { return removeSame(root, name, file) }))
}

// removeSame removes a file of a folder if the name still belongs to the open file. A missing file is no error.
func removeSame(root *os.Root, name string, file *os.File) error {
	found, err := root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	held, err := file.Stat()
	if err != nil || !os.SameFile(found, held) {
		return err
	}
	return root.Remove(name)
}

// entries returns the entries of the folder, or none if it does not exist.
func (s sideFolder) entries() (list []os.DirEntry, err error) {
	err = s.within(false, func(root *os.Root) error {
		list, err = fs.ReadDir(root.FS(), ".")
		return err
	})
	return list, withoutMissing(err)
}

// exists reports whether the folder has a file of that name.
func (s sideFolder) exists(name string) (bool, error) {
	err := s.within(false, func(root *os.Root) error {
		_, err := root.Lstat(name)
		return err
	})
	return err == nil, withoutMissing(err)
}

// within opens the folder, calls fn with it and closes it. The folder is created first if create is true.
func (s sideFolder) within(create bool, fn func(*os.Root) error) error {
	root, err := s.openRoot(create)
	if err != nil {
		return err
	}
	return errors.Join(fn(root), root.Close())
}

// withoutMissing returns nil for the error of a file or a folder that does not exist.
func withoutMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// sideTries is the number of tries for a name that another process creates or removes at the same time.
const sideTries = 100

// errSideBusy means that a name of the folder changed at each try.
var errSideBusy = errors.New("other processes create and remove the folder all the time")

// openRoot opens the folder, which must be a directory and not a link to one, and creates it if create is true.
func (s sideFolder) openRoot(create bool) (*os.Root, error) {
	parent, err := os.OpenRoot(filepath.Dir(s.path))
	if err != nil {
		return nil, err
	}
	root, err := s.openBelow(parent, create)
	if err != nil {
		return nil, errors.Join(err, parent.Close())
	}
	return root, parent.Close()
}

func (s sideFolder) openBelow(parent *os.Root, create bool) (*os.Root, error) {
	name := filepath.Base(s.path)
	for range sideTries {
		root, err := openDirectory(parent, name, s.path)
		if !create || !errors.Is(err, fs.ErrNotExist) {
			return root, err
		}
		database, err := os.Stat(s.database)
		if err != nil {
			return nil, err
		}
		mode := database.Mode().Perm()
		switch err := parent.Mkdir(name, mode|0o700); {
		case errors.Is(err, fs.ErrExist):
			continue // another process created it first
		case err != nil:
			return nil, err
		}
		root, err = openDirectory(parent, name, s.path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		// Users who may read the database may enter the folder.
		if err := adoptFolder(root, mode|mode&0o444>>2, database); err != nil {
			return nil, errors.Join(err, root.Close())
		}
		return root, nil
	}
	return nil, fmt.Errorf("%s: %w", s.path, errSideBusy)
}

// openDirectory opens a directory below another one and refuses links and everything else.
func openDirectory(parent *os.Root, name, path string) (*os.Root, error) {
	found, err := parent.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !found.IsDir() {
		return nil, refuseSide(path, "it is "+describe(found.Mode())+", not a folder")
	}
	root, err := parent.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	opened, err := root.Stat(".")
	if err == nil && !os.SameFile(found, opened) {
		err = refuseSide(path, "it was replaced while it was being opened")
	}
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return root, nil
}

// adoptFolder sets the mode and owner of the folder that this process has just created. If another user has replaced it in the meantime,
// the folder holds files of other names, and adoptFolder leaves it, or it is empty, and nothing is lost.
func adoptFolder(root *os.Root, mode os.FileMode, like os.FileInfo) error {
	folder, err := root.Open(".")
	if err != nil {
		return err
	}
	names, err := folder.Readdirnames(-1)
	for _, name := range names {
		if !isSideFile(name) {
			return errors.Join(err, folder.Close())
		}
	}
	// A shared folder with the setgid bit gives new files its group. The side folder inherits the bit and must keep it.
	made, statErr := folder.Stat()
	if err := errors.Join(err, statErr); err != nil {
		return errors.Join(err, folder.Close())
	}
	return errors.Join(adopt(folder, mode|made.Mode()&os.ModeSetgid, like), folder.Close())
}

// openIn opens a file and creates it when it is missing.
func (s sideFolder) openIn(root *os.Root, name string) (*os.File, error) {
	for range sideTries {
		file, err := openPlain(root, name)
		if !errors.Is(err, fs.ErrNotExist) {
			return file, err
		}
		file, err = s.createIn(root, name)
		if !errors.Is(err, fs.ErrExist) {
			return file, err
		}
	}
	return nil, fmt.Errorf("%s: %w", filepath.Join(s.path, name), errSideBusy)
}

func (s sideFolder) createIn(root *os.Root, name string) (*os.File, error) {
	database, err := os.Stat(s.database)
	if err != nil {
		return nil, err
	}
	mode := database.Mode().Perm()
	file, err := root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return nil, err
	}
	if err := adopt(file, mode, database); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// openPlain opens a regular file that has no other name. It checks before it opens, because opening a device or a FIFO
// can have effects, and again after it, because the name may lead to another file by then.
func openPlain(root *os.Root, name string) (*os.File, error) {
	path := filepath.Join(root.Name(), name)
	found, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !found.Mode().IsRegular() {
		return nil, refuseSide(path, "it is "+describe(found.Mode())+", not a regular file")
	}
	file, err := root.OpenFile(name, os.O_RDWR|openCarefully, 0)
	if err != nil {
		return nil, err
	}
	opened, err := file.Stat()
	switch {
	case err != nil:
	case !os.SameFile(found, opened):
		err = refuseSide(path, "it was replaced while it was being opened")
	case links(opened) > 1:
		err = refuseSide(path, fmt.Sprintf("the file has %d names", links(opened)))
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// adopt gives a file or folder that this process has just created the mode of the database, whatever the umask, and its
// owner. Only root may set the owner.
func adopt(file *os.File, mode os.FileMode, like os.FileInfo) error {
	if err := file.Chmod(mode); err != nil {
		return err
	}
	return giveAway(file, like)
}

// errSide is the error for a file of the side folder that differs from the files which this package creates.
var errSide = errors.New("the file is not used, because a user who may write to its folder could harm others with it: remove it")

func refuseSide(path, reason string) error { return fmt.Errorf("%s: %s; %w", path, reason, errSide) }

// describe returns the name of a kind of file for an error text.
func describe(mode os.FileMode) string {
	for _, kind := range []struct {
		bit  os.FileMode
		name string
	}{{os.ModeDir, "a folder"}, {os.ModeSymlink, "a symbolic link"}, {os.ModeNamedPipe, "a named pipe"}, {os.ModeSocket, "a socket"}, {os.ModeDevice, "a device"}} {
		if mode&kind.bit != 0 {
			return kind.name
		}
	}
	if mode.IsRegular() {
		return "a regular file"
	}
	return "a special file"
}

// workerLock returns the name of the lock file of the worker with that key.
func workerLock(key string) string { return workerPrefix + key + workerSuffix }

// workerKey returns the key in the name of a worker's lock file; ok is false for every other name.
func workerKey(name string) (key string, ok bool) {
	key, ok = strings.CutPrefix(name, workerPrefix)
	if !ok {
		return "", false
	}
	key, ok = strings.CutSuffix(key, workerSuffix)
	return key, ok && isKey(key)
}

// isKey reports whether a text has the form of newKey's results. Keys come from rows that other programs may write, and
// become parts of file names.
func isKey(key string) bool {
	return len(key) == 26 && strings.Trim(key, "abcdefghijklmnopqrstuvwxyz234567") == ""
}

// newKey returns a key for a worker: 26 characters, which cannot be guessed.
func newKey() string { return strings.ToLower(rand.Text()) }

// lockEvery is the interval of the tries for a lock that another process holds.
const lockEvery = 2 * time.Millisecond

// lock waits for an exclusive lock on a file of the folder until ctx ends.
func (s sideFolder) lock(ctx context.Context, name string) (unlock func(), err error) {
	unlock, err = s.lockWhile(name, func() bool { return outage.Sleep(ctx, lockEvery) })
	if err == nil && unlock == nil {
		err = fmt.Errorf("lock %s: %w", filepath.Join(s.path, name), ctx.Err())
	}
	return unlock, err
}

// tryLock takes an exclusive lock on a file of the folder. unlock is nil when another holder has it.
func (s sideFolder) tryLock(name string) (unlock func(), err error) {
	return s.lockWhile(name, func() bool { return false })
}

// lockWhile tries to take an exclusive lock on a file of the folder until wait returns false. unlock is nil when another holder has it then.
func (s sideFolder) lockWhile(name string, wait func() bool) (unlock func(), err error) {
	file, err := s.open(name)
	if err != nil {
		return nil, err
	}
	for {
		switch ok, err := tryLock(file); {
		case err != nil:
			return nil, errors.Join(fmt.Errorf("lock %s: %w", file.Name(), err), file.Close())
		case ok:
			return func() { _ = file.Close() }, nil // closing releases the lock, also with an error
		case !wait():
			return nil, file.Close()
		}
	}
}

// locked waits until ctx ends for an exclusive lock on a file of the folder, and runs fn with it.
func (s sideFolder) locked(ctx context.Context, name string, fn func() error) error {
	unlock, err := s.lock(ctx, name)
	if err != nil {
		return err
	}
	defer unlock()
	return fn()
}
