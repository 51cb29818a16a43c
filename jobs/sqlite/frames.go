package sqlite

import (
	"encoding/binary"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// The WAL's layout is that of https://www.sqlite.org/fileformat2.html#the_write_ahead_log, for pages of SQLite's default size.
// One of another size is written as ever.
const (
	logHeader   = 32
	frameHeader = 24
	framePage   = 4096
	frameSize   = frameHeader + framePage
	mostFrames  = 15 // less than 64 KB, SQLite's largest page: a VFS need not take more, and that for unix refuses 128 KB
)

// frames are what a transaction has appended to the WAL and what is not yet written there. SQLite writes a header and a page
// for each frame, in two calls; those of a small transaction are written at once here (docs/decisions/0033-frames-at-once.md).
//
// They are written with the transaction's last frame, which SQLite awaits before it shows the transaction to anybody, when there
// is no more room, and before anything else is done with the file. That is while the lock to write is held: what is left when
// it is given up belongs to a transaction that was rolled back, and is dropped, for others may write in its place then.
type frames struct {
	buffer uintptr // of mostFrames, from the first use
	start  int64   // where what is held belongs
	held   int32   // in bytes
	last   bool    // what was added last belongs to a transaction's last frame
	locked bool    // the lock to write is held
	end    int64   // of all that was written since it was taken
}

// half reports whether what was added last is a header.
func (h *frames) half() bool { return h.held%frameSize != 0 }

// writeLog writes to a WAL, or holds what is written.
func writeLog(tls *libc.TLS, p, data uintptr, size int32, offset int64) int32 {
	f := fileAt(p)
	h := &f.frames
	next := h.held > 0 && offset == h.start+int64(h.held)
	switch {
	case next && h.half() && size == framePage:
		h.add(tls, data, size)
		if !h.last && h.held < mostFrames*frameSize {
			return lib.SQLITE_OK
		}
		rc := f.flush(tls, p)
		if rc != lib.SQLITE_OK {
			h.held -= frameSize // or a read in the rollback would write it, and commit what is told to have failed
		}
		return rc
	case next && !h.half() && isHeader(size, offset):
		h.addHeader(tls, data)
		return lib.SQLITE_OK
	}
	if rc := f.flush(tls, p); rc != lib.SQLITE_OK {
		if h.half() {
			h.held -= frameHeader // of the page that could not be written
		}
		return rc
	}
	// A header within what was written is one that SQLite computes anew, and no page follows.
	if h.locked && isHeader(size, offset) && offset >= h.end && h.room(tls) {
		h.start = offset
		h.addHeader(tls, data)
		return lib.SQLITE_OK
	}
	return f.write(tls, p, data, size, offset)
}

// isHeader reports whether it is a frame's header that is written, and not the rest of a page: SQLite divides one where it
// syncs in its midst.
func isHeader(size int32, offset int64) bool {
	return size == frameHeader && (offset-logHeader)%frameSize == 0
}

func (h *frames) room(tls *libc.TLS) bool {
	if h.buffer == 0 {
		h.buffer = libc.Xmalloc(tls, mostFrames*frameSize)
	}
	return h.buffer != 0
}

// addHeader adds a frame's header. Its second number is the size of the database after the transaction in the last frame, else 0.
func (h *frames) addHeader(tls *libc.TLS, data uintptr) {
	h.last = binary.BigEndian.Uint32(unsafe.Slice(at[byte](data), frameHeader)[4:]) != 0
	h.add(tls, data, frameHeader)
}

func (h *frames) add(tls *libc.TLS, data uintptr, size int32) {
	libc.Xmemcpy(tls, h.buffer+uintptr(h.held), data, libc.Tsize_t(size))
	h.held += size
}

// flush writes what is held, and still holds it when that fails: SQLite may have forgotten the page, and ask for it.
func (f *file) flush(tls *libc.TLS, p uintptr) int32 {
	h := &f.frames
	if h.held == 0 {
		return lib.SQLITE_OK
	}
	if rc := f.write(tls, p, h.buffer, h.held, h.start); rc != lib.SQLITE_OK {
		return rc
	}
	h.held = 0
	return lib.SQLITE_OK
}

func (f *file) write(tls *libc.TLS, p, data uintptr, size int32, offset int64) int32 {
	f.frames.end = max(f.frames.end, offset+int64(size))
	return function[transferFunc](f.lower().FxWrite)(tls, p, data, size, offset)
}

// lockShared takes or gives up locks in a database's shared memory, of which the first is that to write.
func lockShared(tls *libc.TLS, p uintptr, first, n, flags int32) int32 {
	f := fileAt(p)
	lock := function[lockFunc](f.lower().FxShmLock)
	if first != 0 || f.log == 0 {
		return lock(tls, p, first, n, flags)
	}
	h := &fileAt(f.log).frames
	h.held = 0
	rc := lock(tls, p, first, n, flags)
	h.locked, h.end = rc == lib.SQLITE_OK && flags == lib.SQLITE_SHM_LOCK|lib.SQLITE_SHM_EXCLUSIVE, 0
	return rc
}

func closeLog(tls *libc.TLS, p uintptr) int32 {
	f := fileAt(p)
	fileAt(f.db).log = 0
	libc.Xfree(tls, f.frames.buffer)
	return function[fileFunc](f.lower().FxClose)(tls, p)
}

func readLog(tls *libc.TLS, p, data uintptr, size int32, offset int64) int32 {
	f := fileAt(p)
	if rc := f.flush(tls, p); rc != lib.SQLITE_OK {
		return rc
	}
	return function[transferFunc](f.lower().FxRead)(tls, p, data, size, offset)
}

func truncateLog(tls *libc.TLS, p uintptr, size int64) int32 {
	f := fileAt(p)
	if rc := f.flush(tls, p); rc != lib.SQLITE_OK {
		return rc
	}
	return function[truncateFunc](f.lower().FxTruncate)(tls, p, size)
}

func syncLog(tls *libc.TLS, p uintptr, flags int32) int32 {
	f := fileAt(p)
	if rc := f.flush(tls, p); rc != lib.SQLITE_OK {
		return rc
	}
	return function[numberFunc](f.lower().FxSync)(tls, p, flags)
}

func sizeLog(tls *libc.TLS, p, result uintptr) int32 {
	f := fileAt(p)
	if rc := f.flush(tls, p); rc != lib.SQLITE_OK {
		return rc
	}
	return function[resultFunc](f.lower().FxFileSize)(tls, p, result)
}

func controlLog(tls *libc.TLS, p uintptr, op int32, arg uintptr) int32 {
	f := fileAt(p)
	if rc := f.flush(tls, p); rc != lib.SQLITE_OK {
		return rc
	}
	return function[controlFunc](f.lower().FxFileControl)(tls, p, op, arg)
}
