package sqlite

import (
	"errors"
	"fmt"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// vfsRoom is what a file of the VFS below may need, in bytes. Those of SQLite's own VFS need some 120; an application may have
// made another one the default.
const vfsRoom = 1024

// layer is a VFS that lies above another one, gathers what a transaction appends to the WAL (see frames), and leaves all else to
// the one below: it has that one's own functions but for those of files. The writing connections of a [Store] open their files by it.
type layer struct {
	lib.Tsqlite3_vfs
	below uintptr
}

func layerAbove(belowAt uintptr) layer {
	l := layer{*at[lib.Tsqlite3_vfs](belowAt), belowAt}
	l.FpNext, l.FzName, l.FszOsFile = 0, 0, int32(vfsRoom+unsafe.Sizeof(file{}))
	l.FxOpen, l.FxDelete = address(openFile), address(deleteFile)
	l.FxAccess, l.FxFullPathname = address(accessFile), address(fullPath)
	return l
}

// isLayer reports whether a VFS is one of these.
func isLayer(vfs *lib.Tsqlite3_vfs) bool { return vfs.FxOpen == address(openFile) }

// useLayer returns the name of the layer above what is SQLite's default VFS now, which must be there for as long as the store is
// open. There is one layer for each of those that a process opens stores by, and it stays: nobody knows when the last connection
// by it is closed.
func useLayer() (name string, err error) {
	tls := libc.NewTLS()
	defer tls.Close()
	head := lib.Xsqlite3_vfs_find(tls, 0)
	if head == 0 {
		return "", errors.New("SQLite has no default VFS")
	}
	mutex := lib.Xsqlite3_mutex_alloc(tls, lib.SQLITE_MUTEX_STATIC_MAIN) // with which SQLite looks at its list of VFSs
	lib.Xsqlite3_mutex_enter(tls, mutex)
	defer lib.Xsqlite3_mutex_leave(tls, mutex)
	below := at[lib.Tsqlite3_vfs](head)
	if isLayer(below) {
		return libc.GoString(below.FzName), nil // an application has taken all others away
	}
	if below.FszOsFile > vfsRoom {
		return "", fmt.Errorf("a file of SQLite's default VFS needs %d bytes, more than %d", below.FszOsFile, vfsRoom)
	}
	want := layerAbove(head)
	last := below
	for p := head; p != 0; p = last.FpNext {
		last = at[lib.Tsqlite3_vfs](p)
		if isLayer(last) && at[layer](p).is(want) {
			return libc.GoString(last.FzName), nil
		}
	}
	return addLayer(tls, want, last)
}

// is reports whether it is the same layer, whatever its name and its place. One whose address is that of another VFS than it
// was made for is not.
func (l layer) is(other layer) bool {
	l.FpNext, l.FzName = other.FpNext, other.FzName
	return l == other
}

// addLayer puts a layer behind the last VFS of SQLite's list. SQLite would put it behind the first one, and so in its place
// when an application takes that away.
func addLayer(tls *libc.TLS, l layer, last *lib.Tsqlite3_vfs) (name string, err error) {
	const longest = 32
	size := unsafe.Sizeof(l)
	p := libc.Xmalloc(tls, libc.Tsize_t(size+longest))
	if p == 0 {
		return "", errors.New("no memory for a VFS")
	}
	name = fmt.Sprintf("sqluice-%x", p)
	text := unsafe.Slice(at[byte](p+size), longest)
	text[copy(text, name)] = 0
	l.FzName = p + size
	*at[layer](p) = l
	last.FpNext = p
	return name, nil
}

// file is what a layer keeps of a file, behind the memory that the VFS below has for it. SQLite uses a file, and the others of
// its connection, in one thread at a time. It lies in memory of SQLite's, and holds no pointer for the garbage collector.
type file struct {
	methods lib.Tsqlite3_io_methods // those of the VFS below, but for the replaced ones
	below   uintptr                 // where those are
	log     uintptr                 // of a database: its WAL, while that is open
	db      uintptr                 // of a WAL: its database
	frames  frames                  // of a WAL
}

func fileAt(p uintptr) *file { return at[file](p + vfsRoom) }

func (f *file) lower() *lib.Tsqlite3_io_methods { return at[lib.Tsqlite3_io_methods](f.below) }

// The functions that SQLite calls, by what they take.
type (
	openFunc     = func(tls *libc.TLS, vfs, name, file uintptr, flags int32, outFlags uintptr) int32
	deleteFunc   = func(tls *libc.TLS, vfs, name uintptr, syncDir int32) int32
	accessFunc   = func(tls *libc.TLS, vfs, name uintptr, flags int32, result uintptr) int32
	pathFunc     = func(tls *libc.TLS, vfs, name uintptr, size int32, result uintptr) int32
	fileFunc     = func(tls *libc.TLS, file uintptr) int32
	transferFunc = func(tls *libc.TLS, file, data uintptr, size int32, offset int64) int32
	truncateFunc = func(tls *libc.TLS, file uintptr, size int64) int32
	numberFunc   = func(tls *libc.TLS, file uintptr, n int32) int32
	resultFunc   = func(tls *libc.TLS, file, result uintptr) int32
	controlFunc  = func(tls *libc.TLS, file uintptr, op int32, arg uintptr) int32
	lockFunc     = func(tls *libc.TLS, file uintptr, offset, n, flags int32) int32
)

func belowVFS(layerAt uintptr) (uintptr, *lib.Tsqlite3_vfs) {
	p := at[layer](layerAt).below
	return p, at[lib.Tsqlite3_vfs](p)
}

func openFile(tls *libc.TLS, layerAt, name, p uintptr, flags int32, outFlags uintptr) int32 {
	belowAt, below := belowVFS(layerAt)
	if rc := function[openFunc](below.FxOpen)(tls, belowAt, name, p, flags, outFlags); rc != lib.SQLITE_OK {
		return rc
	}
	opened := at[lib.Tsqlite3_file](p)
	f := fileAt(p)
	*f = file{below: opened.FpMethods}
	f.methods = *f.lower()
	switch {
	case f.methods.FiVersion < 2: // has no shared memory, and so no lock to write
		return lib.SQLITE_OK
	case flags&lib.SQLITE_OPEN_MAIN_DB != 0:
		f.methods.FxShmLock = address(lockShared)
	case flags&lib.SQLITE_OPEN_WAL != 0:
		f.db = lib.Xsqlite3_database_file_object(tls, name)
		if at[lib.Tsqlite3_file](f.db).FpMethods != f.db+vfsRoom {
			return lib.SQLITE_OK // the database is not a file of this VFS, which does not know of its locks
		}
		fileAt(f.db).log = p
		f.methods.FxClose, f.methods.FxRead, f.methods.FxWrite = address(closeLog), address(readLog), address(writeLog)
		f.methods.FxTruncate, f.methods.FxSync = address(truncateLog), address(syncLog)
		f.methods.FxFileSize, f.methods.FxFileControl = address(sizeLog), address(controlLog)
	default:
		return lib.SQLITE_OK
	}
	opened.FpMethods = p + vfsRoom // f.methods
	return lib.SQLITE_OK
}

func deleteFile(tls *libc.TLS, layerAt, name uintptr, syncDir int32) int32 {
	belowAt, below := belowVFS(layerAt)
	return function[deleteFunc](below.FxDelete)(tls, belowAt, name, syncDir)
}

func accessFile(tls *libc.TLS, layerAt, name uintptr, flags int32, result uintptr) int32 {
	belowAt, below := belowVFS(layerAt)
	return function[accessFunc](below.FxAccess)(tls, belowAt, name, flags, result)
}

func fullPath(tls *libc.TLS, layerAt, name uintptr, size int32, result uintptr) int32 {
	belowAt, below := belowVFS(layerAt)
	return function[pathFunc](below.FxFullPathname)(tls, belowAt, name, size, result)
}

// at is what lies at an address of SQLite's.
func at[T any](p uintptr) *T { return *(**T)(unsafe.Pointer(&p)) }

// address is what SQLite, which was C, calls a function of this package by. A closure would not do: the garbage collector
// does not see that address.
func address[F any](fn F) uintptr { return *(*uintptr)(unsafe.Pointer(&fn)) }

// function is the opposite of address.
func function[F any](p uintptr) F {
	at := &struct{ p uintptr }{p}
	return *(*F)(unsafe.Pointer(at))
}
