package faultvfs

import (
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// newCalls makes the functions of the layer: each meets its fault or calls the one below.
func (f *FS) newCalls() calls {
	return calls{
		open: f.xOpen, delete: f.xDelete, access: f.xAccess, close: f.xClose, read: f.xRead, write: f.xWrite,
		truncate: f.xTruncate, sync: f.xSync, size: f.xFileSize, lock: f.xLock, lockShared: f.xShmLock, mapShared: f.xShmMap,
		unlock: func(tls *libc.TLS, p uintptr, n int32) int32 {
			file := f.fileAt(p)
			return function[numberFunc](file.methods.FxUnlock)(tls, file.below, n)
		},
		reserved: func(tls *libc.TLS, p, result uintptr) int32 {
			file := f.fileAt(p)
			return function[resultFunc](file.methods.FxCheckReservedLock)(tls, file.below, result)
		},
		control: func(tls *libc.TLS, p uintptr, op int32, arg uintptr) int32 {
			file := f.fileAt(p)
			return function[controlFunc](file.methods.FxFileControl)(tls, file.below, op, arg)
		},
		sector: func(tls *libc.TLS, p uintptr) int32 {
			file := f.fileAt(p)
			return function[fileFunc](file.methods.FxSectorSize)(tls, file.below)
		},
		device: func(tls *libc.TLS, p uintptr) int32 {
			file := f.fileAt(p)
			return function[fileFunc](file.methods.FxDeviceCharacteristics)(tls, file.below)
		},
		barrier: func(tls *libc.TLS, p uintptr) {
			file := f.fileAt(p)
			function[barrierFunc](file.methods.FxShmBarrier)(tls, file.below)
		},
		unmap: func(tls *libc.TLS, p uintptr, remove int32) int32 {
			file := f.fileAt(p)
			return function[numberFunc](file.methods.FxShmUnmap)(tls, file.below, remove)
		},
	}
}

func (f *FS) xOpen(tls *libc.TLS, _, name, p uintptr, flags int32, outFlags uintptr) int32 {
	open := function[openFunc](f.below.FxOpen)
	path := ""
	if name != 0 { // without a name it is a temporary file
		path = libc.GoString(name)
	}
	if !f.covers(path) {
		return open(tls, f.belowAt, name, p, flags, outFlags)
	}
	upper := at[lib.Tsqlite3_file](p)
	upper.FpMethods = 0
	if _, hit := f.befalls(Open); hit {
		return Open.failure()
	}
	below := p + lower
	clear(unsafe.Slice(at[byte](below), f.below.FszOsFile))
	rc := open(tls, f.belowAt, name, below, flags, outFlags)
	if methods := at[lib.Tsqlite3_file](below).FpMethods; methods != 0 {
		upper.FpMethods = f.methods // so that SQLite closes it, also when the open failed
		f.mu.Lock()
		f.open[p] = &file{path: path, below: below, methods: at[lib.Tsqlite3_io_methods](methods), folder: newJournal(flags)}
		f.mu.Unlock()
	}
	return rc
}

// newJournal reports whether a file is one whose first sync is followed by one of its folder: SQLite's default VFS for
// unix does that for journals that it may have made.
func newJournal(flags int32) bool {
	return flags&lib.SQLITE_OPEN_CREATE != 0 && flags&(lib.SQLITE_OPEN_MAIN_JOURNAL|lib.SQLITE_OPEN_SUPER_JOURNAL|lib.SQLITE_OPEN_WAL) != 0
}

func (f *FS) xClose(tls *libc.TLS, p uintptr) int32 {
	file := f.fileAt(p)
	f.mu.Lock()
	delete(f.open, p)
	f.mu.Unlock()
	return function[fileFunc](file.methods.FxClose)(tls, file.below)
}

func (f *FS) xDelete(tls *libc.TLS, _, name uintptr, syncDir int32) int32 {
	path := libc.GoString(name)
	if f.covers(path) {
		if _, hit := f.befalls(Delete); hit {
			return Delete.failure()
		}
		return f.noted(change{path: path, what: deleted, folder: syncDir != 0}, func() int32 {
			return function[deleteFunc](f.below.FxDelete)(tls, f.belowAt, name, syncDir)
		})
	}
	return function[deleteFunc](f.below.FxDelete)(tls, f.belowAt, name, syncDir)
}

func (f *FS) xAccess(tls *libc.TLS, _, name uintptr, flags int32, result uintptr) int32 {
	if f.covers(libc.GoString(name)) {
		if _, hit := f.befalls(Access); hit {
			return Access.failure()
		}
	}
	return function[accessFunc](f.below.FxAccess)(tls, f.belowAt, name, flags, result)
}

func (f *FS) xRead(tls *libc.TLS, p, data uintptr, size int32, offset int64) int32 {
	file := f.fileAt(p)
	if _, hit := f.befalls(Read); hit {
		return Read.failure()
	}
	return function[transferFunc](file.methods.FxRead)(tls, file.below, data, size, offset)
}

func (f *FS) xWrite(tls *libc.TLS, p, data uintptr, size int32, offset int64) int32 {
	file := f.fileAt(p)
	write := func(n int32) int32 {
		bytes := unsafe.Slice(at[byte](data), n)
		return f.noted(change{path: file.path, what: written, offset: offset, data: bytes}, func() int32 {
			return function[transferFunc](file.methods.FxWrite)(tls, file.below, data, n, offset)
		})
	}
	fault, hit := f.befalls(Write)
	switch {
	case hit && fault == Short:
		if rc := write(size / 2); rc != lib.SQLITE_OK {
			return rc
		}
		return lib.SQLITE_FULL
	case hit && fault == Full:
		return lib.SQLITE_FULL
	case hit:
		return Write.failure()
	}
	return write(size)
}

func (f *FS) xTruncate(tls *libc.TLS, p uintptr, size int64) int32 {
	file := f.fileAt(p)
	if _, hit := f.befalls(Truncate); hit {
		return Truncate.failure()
	}
	return f.noted(change{path: file.path, what: truncated, offset: size}, func() int32 {
		return function[truncateFunc](file.methods.FxTruncate)(tls, file.below, size)
	})
}

// xSync fails before any data reaches the device.
func (f *FS) xSync(tls *libc.TLS, p uintptr, flags int32) int32 {
	file := f.fileAt(p)
	if _, hit := f.befalls(Sync); hit {
		return Sync.failure()
	}
	f.mu.Lock()
	c := change{path: file.path, what: synced, folder: file.folder}
	file.folder = false
	f.mu.Unlock()
	return f.noted(c, func() int32 {
		return function[numberFunc](file.methods.FxSync)(tls, file.below, flags)
	})
}

func (f *FS) xFileSize(tls *libc.TLS, p, result uintptr) int32 {
	file := f.fileAt(p)
	if _, hit := f.befalls(Size); hit {
		return Size.failure()
	}
	return function[resultFunc](file.methods.FxFileSize)(tls, file.below, result)
}

func (f *FS) xLock(tls *libc.TLS, p uintptr, level int32) int32 {
	file := f.fileAt(p)
	if _, hit := f.befalls(Lock); hit {
		return Lock.failure()
	}
	return function[numberFunc](file.methods.FxLock)(tls, file.below, level)
}

func (f *FS) xShmMap(tls *libc.TLS, p uintptr, region, size, extend int32, result uintptr) int32 {
	file := f.fileAt(p)
	if _, hit := f.befalls(MapShared); hit {
		*at[uintptr](result) = 0
		return MapShared.failure()
	}
	return function[mapFunc](file.methods.FxShmMap)(tls, file.below, region, size, extend, result)
}

func (f *FS) xShmLock(tls *libc.TLS, p uintptr, offset, n, flags int32) int32 {
	file := f.fileAt(p)
	if flags&lib.SQLITE_SHM_LOCK != 0 {
		if _, hit := f.befalls(LockShared); hit {
			return LockShared.failure()
		}
	}
	return function[lockFunc](file.methods.FxShmLock)(tls, file.below, offset, n, flags)
}
