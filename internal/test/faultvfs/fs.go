package faultvfs

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// FS is the layer over the files below one folder.
type FS struct {
	dir     string // with a separator at its end
	tls     *libc.TLS
	memory  []uintptr // memory that Remove frees
	vfs     uintptr   // the sqlite3_vfs of this layer
	below   *lib.Tsqlite3_vfs
	belowAt uintptr
	methods uintptr // the sqlite3_io_methods of files that go through the layer
	calls   calls   // referenced by those methods and the VFS, which the garbage collector does not see

	mu   sync.Mutex
	open map[uintptr]*file // by the address of SQLite's sqlite3_file
	plan *Plan
	seen Seen
	tape *tape // nil while nothing is recorded
}

// file is an open file. Its lower sqlite3_file lies behind the upper one.
type file struct {
	path    string
	below   uintptr
	methods *lib.Tsqlite3_io_methods
	folder  bool // its next sync also syncs its folder
}

// lower is the offset of the lower sqlite3_file.
const lower = 16

// Install makes the layer the default VFS of the process, for files below a folder. All other files use the VFS that
// was the default before. Layers may be stacked; remove them in the opposite order.
func Install(dir string) (*FS, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, err
	}
	f := &FS{dir: dir + string(filepath.Separator), tls: libc.NewTLS(), open: map[uintptr]*file{}}
	if f.belowAt = lib.Xsqlite3_vfs_find(f.tls, 0); f.belowAt == 0 {
		f.tls.Close()
		return nil, errors.New("SQLite has no default VFS")
	}
	f.below = at[lib.Tsqlite3_vfs](f.belowAt)
	if err := f.register(); err != nil {
		f.free()
		return nil, err
	}
	return f, nil
}

func (f *FS) register() error {
	var err error
	alloc := func(size uintptr) uintptr {
		p := libc.Xcalloc(f.tls, 1, libc.Tsize_t(size))
		if p == 0 {
			err = errors.New("no memory for a VFS")
			return 0
		}
		f.memory = append(f.memory, p)
		return p
	}
	f.vfs = alloc(unsafe.Sizeof(lib.Tsqlite3_vfs{}))
	f.methods = alloc(unsafe.Sizeof(lib.Tsqlite3_io_methods{}))
	name := fmt.Sprintf("faults-%x", f.vfs)
	nameAt := alloc(uintptr(len(name) + 1))
	if err != nil {
		return err
	}
	copy(unsafe.Slice(at[byte](nameAt), len(name)), name)

	f.calls = f.newCalls()
	vfs := at[lib.Tsqlite3_vfs](f.vfs)
	*vfs = *f.below // methods that are not replaced below ignore the VFS that they are called by
	vfs.FpNext, vfs.FzName, vfs.FszOsFile = 0, nameAt, f.below.FszOsFile+lower
	f.calls.installVFS(vfs)
	f.calls.installMethods(at[lib.Tsqlite3_io_methods](f.methods))
	if rc := lib.Xsqlite3_vfs_register(f.tls, f.vfs, 1); rc != lib.SQLITE_OK {
		return fmt.Errorf("register a VFS: SQLite's error %d", rc)
	}
	return nil
}

// Remove makes the VFS below the default again. All files must be closed.
func (f *FS) Remove() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.open) > 0 {
		return fmt.Errorf("%d files are still open", len(f.open))
	}
	if lib.Xsqlite3_vfs_find(f.tls, 0) != f.vfs {
		return errors.New("another VFS lies above")
	}
	if rc := lib.Xsqlite3_vfs_unregister(f.tls, f.vfs); rc != lib.SQLITE_OK {
		return fmt.Errorf("unregister a VFS: SQLite's error %d", rc)
	}
	if rc := lib.Xsqlite3_vfs_register(f.tls, f.belowAt, 1); rc != lib.SQLITE_OK {
		return fmt.Errorf("make the VFS below the default: SQLite's error %d", rc)
	}
	f.free()
	return nil
}

func (f *FS) free() {
	for _, p := range f.memory {
		libc.Xfree(f.tls, p)
	}
	f.memory = nil
	f.tls.Close()
}

// Arm makes a plan count from now on. It replaces any other plan.
func (f *FS) Arm(p Plan) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.plan, f.seen = &p, Seen{}
}

// Count restarts the count, without a plan.
func (f *FS) Count() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.plan, f.seen = nil, Seen{}
}

// Disarm drops the plan and returns its result.
func (f *FS) Disarm() Seen {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.plan = nil
	return f.seen
}

// Hits returns how many operations the fault has affected so far.
func (f *FS) Hits() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.seen.Hits
}

// befalls counts an operation and reports whether the fault affects it.
func (f *FS) befalls(k Kind) (fault Fault, hit bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen.Ops[Any]++
	f.seen.Ops[k]++
	p := f.plan
	if p == nil || p.Kind != Any && p.Kind != k || !p.Fault.Fits(k) {
		return 0, false
	}
	if p.At--; p.At > 0 || p.At <= -max(1, p.For) {
		return 0, false
	}
	if f.seen.Hits++; f.seen.Hits == 1 {
		f.seen.Hit = k
	}
	return p.Fault, true
}

// covers reports whether a file goes through the layer.
func (f *FS) covers(path string) bool { return strings.HasPrefix(path, f.dir) }

func (f *FS) fileAt(p uintptr) *file {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.open[p]
}
