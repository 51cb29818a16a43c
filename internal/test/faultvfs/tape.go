package faultvfs

import (
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	lib "modernc.org/sqlite/lib"
)

// sector is the unit that a device writes as a whole or not at all.
const sector = 512

type action int

const (
	written action = iota
	truncated
	deleted
	synced
)

// change is one change of a file.
type change struct {
	path   string
	what   action
	offset int64 // the written bytes, or the new size
	data   []byte
	folder bool // the folder was synced as well: earlier deletions survive a loss of power
}

// tape records the changes of the files since a moment.
type tape struct {
	before  map[string][]byte // their content then, all of it on the device
	changes []change
}

// Record begins to record writes. The current content of the files counts as being on the device. Files in the folder
// that SQLite does not open, and its shared memory, are left out.
func (f *FS) Record() error {
	before := map[string][]byte{}
	err := filepath.WalkDir(f.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || strings.HasSuffix(path, "-shm") {
			return err
		}
		before[path], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tape = &tape{before: before}
	return nil
}

// Moment returns the number of changes recorded since Record.
func (f *FS) Moment() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.tape == nil {
		return 0
	}
	return len(f.tape.changes)
}

// noted changes a file and records the change if it succeeded.
func (f *FS) noted(c change, do func() int32) int32 {
	f.mu.Lock()
	defer f.mu.Unlock()
	rc := do()
	if rc == lib.SQLITE_OK && f.tape != nil {
		c.data = slices.Clone(c.data)
		f.tape.changes = append(f.tape.changes, c)
	}
	return rc
}

// Image writes to a folder a possible state of the files after a loss of power at a moment: each unsynced sector is
// there with a probability. 1 is the death of the process alone.
func (f *FS) Image(dir string, moment int, kept float64, random *rand.Rand) error {
	f.mu.Lock()
	if f.tape == nil || moment > len(f.tape.changes) {
		f.mu.Unlock()
		return fmt.Errorf("moment %d was not noted", moment)
	}
	before, changes := f.tape.before, f.tape.changes[:moment]
	f.mu.Unlock()

	lastSync, lastFolder := map[string]int{}, -1
	for i, c := range changes {
		if c.what == synced {
			lastSync[c.path] = i
		}
		if c.folder {
			lastFolder = i
		}
	}
	files := map[string][]byte{}
	for path, data := range before {
		files[path] = slices.Clone(data)
	}
	survives := func() bool { return random.Float64() < kept }
	for i, c := range changes {
		last, any := lastSync[c.path]
		safe := any && i < last
		switch c.what {
		case deleted:
			if safe || i <= lastFolder || survives() {
				delete(files, c.path)
			}
		case truncated:
			if safe || survives() {
				files[c.path] = resized(files[c.path], c.offset)
			}
		case written:
			content := files[c.path]
			for from, to := range sectors(c.offset, len(c.data)) {
				if safe || survives() {
					end := c.offset + int64(to)
					if int64(len(content)) < end {
						content = resized(content, end)
					}
					copy(content[c.offset+int64(from):], c.data[from:to])
				}
			}
			files[c.path] = content
		}
	}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		target := filepath.Join(dir, strings.TrimPrefix(path, f.dir))
		if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(target, files[path], 0o600); err != nil {
			return err
		}
	}
	return nil
}

func resized(data []byte, size int64) []byte {
	if int64(len(data)) >= size {
		return data[:size]
	}
	return append(data, make([]byte, size-int64(len(data)))...)
}

// sectors returns the bounds of the parts of a write in one sector each.
func sectors(offset int64, size int) func(yield func(from, to int) bool) {
	return func(yield func(from, to int) bool) {
		for from := 0; from < size; {
			to := min(size, from+sector-int((offset+int64(from))%sector))
			if !yield(from, to) {
				return
			}
			from = to
		}
	}
}
