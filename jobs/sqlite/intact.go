package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

const (
	// stillFor is how old a folder's last change must be before it is taken for the last, by the clock that gives changes their
	// times: it ticks, so that two changes may have one time. By that clock any age would do; this is two of its slowest ticks.
	stillFor = 20 * time.Millisecond

	// stillMost is how long the folder alone is looked at. It does not tell of folders above it, of mounts, nor of a WAL that
	// grows.
	stillMost = time.Second
)

// files are those of a database that is open. Whoever deletes or replaces one beneath a process leaves it with a file that
// nobody else will ever open: what is committed there is lost.
type files struct {
	path string
	main identity

	mu     sync.Mutex
	beside map[string]identity // the WAL and its index, by their suffixes; nil until there are any
	gone   error               // once one of those is not what it was
	swell  swell

	// The writer's own: the last change of the folder before all files were seen in their places, and until when they need not
	// be looked at again while it stays the last.
	folder folder
	still  int64
	until  time.Time
}

// findMain looks at the database's file, which must be there.
func findMain(path string, o options) (*files, error) {
	main, _, err := identify(path)
	if err != nil {
		return nil, err
	}
	return &files{
		path: path, main: main, swell: swell{logger: o.logger, path: path, large: o.walLarge},
		folder: openFolder(filepath.Dir(path)),
	}, nil
}

// findBeside looks, once, at the WAL and its index, which stay for as long as a connection is open.
func (f *files) findBeside() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.beside != nil {
		return nil
	}
	beside := map[string]identity{}
	for _, suffix := range []string{"-wal", "-shm"} {
		found, _, err := identify(f.path + suffix)
		if errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("%s%s: %w", f.path, suffix, jobs.ErrReplaced)
		}
		if err != nil {
			return err
		}
		beside[suffix] = found
	}
	f.beside = beside
	return nil
}

// intact returns ErrReplaced when the path no longer leads to the file that was opened, and for ever once the WAL or its
// index was found gone.
func (f *files) intact() error {
	f.mu.Lock()
	gone := f.gone
	f.mu.Unlock()
	if gone != nil {
		return gone
	}
	_, err := f.is("", f.main)
	return err
}

// unmoved reports whether nothing can have happened to the files since the last look at all of them: for the writer.
func (f *files) unmoved() bool {
	return f.still != 0 && time.Now().Before(f.until) && f.folder.changed() == f.still
}

// writable is intact, for the writer.
func (f *files) writable() error {
	if f.unmoved() {
		return nil
	}
	return f.intact()
}

// kept is intact with a look at the WAL and its index, too: for the writer after a commit, which went there.
func (f *files) kept() error {
	if f.unmoved() {
		return nil
	}
	f.still = 0
	now, tick := time.Now(), f.folder.now() // before the folder: whatever happens to it later gets no earlier time
	changed := f.folder.changed()
	quiet := changed != 0 && tick-changed >= stillFor.Nanoseconds() && f.folder.settle()
	if err := f.intact(); err != nil {
		return err
	}
	if err := f.besideKept(); err != nil {
		return err
	}
	if quiet && f.folder.leads(filepath.Dir(f.path)) {
		f.still, f.until = changed, now.Add(stillMost)
	}
	return nil
}

func (f *files) besideKept() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for suffix, was := range f.beside {
		size, err := f.is(suffix, was)
		if errors.Is(err, jobs.ErrReplaced) {
			f.gone = err
		}
		if err != nil {
			return err
		}
		if suffix == "-wal" {
			f.swell.see(size)
		}
	}
	return nil
}

// is returns the size of a file, or ErrReplaced when it is not the one that was there.
func (f *files) is(suffix string, was identity) (size int64, err error) {
	now, size, err := identify(f.path + suffix)
	if errors.Is(err, os.ErrNotExist) || err == nil && !now.same(was) {
		return 0, fmt.Errorf("%s%s: %w", f.path, suffix, jobs.ErrReplaced)
	}
	if err != nil {
		return 0, fmt.Errorf("%w: %w", errUnseen, err)
	}
	return size, nil
}
