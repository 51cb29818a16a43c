package sqlite

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// rig is a WAL and its database upon files that note what they are asked for, and do nothing.
type rig struct {
	*testing.T
	tls     *libc.TLS
	db, log uintptr
	data    uintptr // a page
	methods uintptr
	calls   []string
	rc      int32 // what everything is answered with

	close       fileFunc
	read, write transferFunc
	truncate    truncateFunc
	sync        numberFunc
	size        resultFunc
	control     controlFunc
	lock        lockFunc
}

func newRig(t *testing.T) *rig {
	r := &rig{T: t, tls: libc.NewTLS()}
	note := func(format string, args ...any) int32 {
		r.calls = append(r.calls, fmt.Sprintf(format, args...))
		return r.rc
	}
	r.close = func(*libc.TLS, uintptr) int32 { return note("close") }
	r.read = func(_ *libc.TLS, _, _ uintptr, n int32, at int64) int32 { return note("read %d at %d", n, at) }
	r.write = func(_ *libc.TLS, _, _ uintptr, n int32, at int64) int32 { return note("write %d at %d", n, at) }
	r.truncate = func(_ *libc.TLS, _ uintptr, n int64) int32 { return note("truncate to %d", n) }
	r.sync = func(*libc.TLS, uintptr, int32) int32 { return note("sync") }
	r.size = func(*libc.TLS, uintptr, uintptr) int32 { return note("size") }
	r.control = func(*libc.TLS, uintptr, int32, uintptr) int32 { return note("control") }
	r.lock = func(_ *libc.TLS, _ uintptr, first, n, flags int32) int32 { return r.rc }
	alloc := func(n uintptr) uintptr { return libc.Xcalloc(r.tls, 1, libc.Tsize_t(n)) }
	r.methods = alloc(unsafe.Sizeof(lib.Tsqlite3_io_methods{}))
	*at[lib.Tsqlite3_io_methods](r.methods) = lib.Tsqlite3_io_methods{
		FiVersion: 2, FxClose: address(r.close), FxRead: address(r.read), FxWrite: address(r.write),
		FxTruncate: address(r.truncate), FxSync: address(r.sync), FxFileSize: address(r.size),
		FxFileControl: address(r.control), FxShmLock: address(r.lock),
	}
	fileSize := vfsRoom + unsafe.Sizeof(file{})
	r.db, r.log, r.data = alloc(fileSize), alloc(fileSize), alloc(framePage)
	*fileAt(r.db) = file{below: r.methods, log: r.log}
	*fileAt(r.log) = file{below: r.methods, db: r.db}
	t.Cleanup(func() {
		for _, p := range []uintptr{r.db, r.log, r.data, r.methods} {
			libc.Xfree(r.tls, p)
		}
		r.tls.Close()
	})
	return r
}

func (r *rig) shm(first, flags int32) int32 { return lockShared(r.tls, r.db, first, 1, flags) }

func (r *rig) begin() {
	r.shm(0, lib.SQLITE_SHM_LOCK|lib.SQLITE_SHM_EXCLUSIVE)
}

func (r *rig) put(n int32, at int64) int32 { return writeLog(r.tls, r.log, r.data, n, at) }

// header writes that of the ith frame, of which the last one of a transaction has the size of the database.
func (r *rig) header(i int64, last bool) int32 {
	size := uint32(0)
	if last {
		size = 7
	}
	binary.BigEndian.PutUint32(unsafe.Slice(at[byte](r.data), frameHeader)[4:], size)
	return r.put(frameHeader, logHeader+i*frameSize)
}

func (r *rig) page(i int64) int32 { return r.put(framePage, logHeader+i*frameSize+frameHeader) }

func (r *rig) frame(i int64, last bool) {
	r.header(i, last)
	r.page(i)
}

// did takes what the file below was asked for.
func (r *rig) did(want ...string) {
	r.Helper()
	if !slices.Equal(r.calls, want) {
		r.Errorf("the file below was asked for %q, want %q", r.calls, want)
	}
	r.calls = nil
}

func TestGathering(t *testing.T) {
	for name, test := range map[string]func(r *rig){
		"a transaction is one write": func(r *rig) {
			r.begin()
			r.frame(0, false)
			r.frame(1, false)
			r.did()
			r.frame(2, true)
			r.did("write 12360 at 32")
			r.frame(3, true)
			r.did("write 4120 at 12392")
		},
		"a large one is several": func(r *rig) {
			r.begin()
			for i := range int64(16) {
				r.frame(i, i == 15)
			}
			r.did("write 61800 at 32", "write 4120 at 61832")
		},
		"without the lock nothing is held": func(r *rig) {
			r.frame(0, false)
			r.did("write 24 at 32", "write 4096 at 56")
		},
		"a lock that was refused is none": func(r *rig) {
			r.rc = lib.SQLITE_BUSY
			r.begin()
			r.rc = lib.SQLITE_OK
			r.header(0, false)
			r.did("write 24 at 32")
		},
		"a shared lock is none": func(r *rig) {
			r.shm(0, lib.SQLITE_SHM_LOCK|lib.SQLITE_SHM_SHARED)
			r.header(0, false)
			r.did("write 24 at 32")
		},
		"other locks change nothing": func(r *rig) {
			r.begin()
			r.shm(3, lib.SQLITE_SHM_LOCK|lib.SQLITE_SHM_EXCLUSIVE)
			r.frame(0, false)
			r.shm(3, lib.SQLITE_SHM_UNLOCK|lib.SQLITE_SHM_EXCLUSIVE)
			r.frame(1, true)
			r.did("write 8240 at 32")
		},
		"what is left with the lock is dropped": func(r *rig) {
			r.begin()
			r.frame(0, false)
			r.header(1, true)
			r.shm(0, lib.SQLITE_SHM_UNLOCK|lib.SQLITE_SHM_EXCLUSIVE)
			readLog(r.tls, r.log, r.data, framePage, 0)
			r.did("read 4096 at 0")
			r.header(0, true)
			r.did("write 24 at 32") // the lock is gone
		},
		"a WAL without a database's locks": func(r *rig) {
			fileAt(r.db).log = 0
			r.begin()
			r.header(0, false)
			r.did("write 24 at 32")
		},
		"headers that are computed anew": func(r *rig) {
			r.begin()
			r.frame(0, false)
			r.frame(1, true)
			r.header(0, false)
			r.header(1, true)
			r.did("write 8240 at 32", "write 24 at 32", "write 24 at 4152")
		},
		"a WAL that began anew": func(r *rig) {
			r.begin()
			r.frame(5, true)
			r.begin()
			r.put(logHeader, 0)
			r.frame(0, true)
			r.did("write 4120 at 20632", "write 32 at 0", "write 4120 at 32")
		},
		"a page that is written again": func(r *rig) {
			r.begin()
			r.frame(0, false)
			r.frame(1, false)
			r.page(0)
			r.frame(2, true)
			r.did("write 8240 at 32", "write 4096 at 56", "write 4120 at 8272")
		},
		"pages of another size": func(r *rig) {
			r.begin()
			for i := range int64(3) {
				at := logHeader + i*(frameHeader+8192)
				r.put(frameHeader, at)
				r.put(8192, at+frameHeader)
			}
			r.did("write 24 at 32", "write 8192 at 56", "write 24 at 8248", "write 8192 at 8272", "write 24 at 16464", "write 8192 at 16488")
		},
		"the rest of a page that is as long as a header": func(r *rig) {
			r.begin()
			r.put(frameHeader, logHeader+frameSize-frameHeader)
			r.did("write 24 at 4128")
			r.frame(1, false)
			r.put(frameHeader, logHeader+2*frameSize+8)
			r.did("write 4120 at 4152", "write 24 at 8280")
		},
		"two headers": func(r *rig) {
			r.begin()
			r.header(0, false)
			r.put(frameHeader, logHeader+frameHeader)
			r.did("write 24 at 32", "write 24 at 56")
		},
		"a page without a header": func(r *rig) {
			r.begin()
			r.frame(0, false)
			r.put(framePage, logHeader+frameSize)
			r.did("write 4120 at 32", "write 4096 at 4152")
		},
	} {
		t.Run(name, func(t *testing.T) { test(newRig(t)) })
	}
}

// Whatever else is done with the file comes after what is held, and not at all when that cannot be written.
func TestWhatIsHeldComesFirst(t *testing.T) {
	for name, call := range map[string]func(r *rig) int32{
		"read 9 at 8":   func(r *rig) int32 { return readLog(r.tls, r.log, r.data, 9, 8) },
		"write 9 at 8":  func(r *rig) int32 { return r.put(9, 8) },
		"truncate to 7": func(r *rig) int32 { return truncateLog(r.tls, r.log, 7) },
		"sync":          func(r *rig) int32 { return syncLog(r.tls, r.log, 0) },
		"size":          func(r *rig) int32 { return sizeLog(r.tls, r.log, r.data) },
		"control":       func(r *rig) int32 { return controlLog(r.tls, r.log, 0, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.begin()
			r.frame(0, false)
			r.rc = lib.SQLITE_FULL
			if rc := call(r); rc != lib.SQLITE_FULL {
				t.Errorf("it gives %d", rc)
			}
			r.did("write 4120 at 32")
			r.rc = lib.SQLITE_OK
			if rc := call(r); rc != lib.SQLITE_OK {
				t.Errorf("it gives %d", rc)
			}
			r.did("write 4120 at 32", name)
			call(r)
			r.did(name)
		})
	}
}

// What SQLite is told has failed is never written later.
func TestWhatFailedIsForgotten(t *testing.T) {
	for name, test := range map[string]func(r *rig) (rc int32, want []string){
		"the last frame": func(r *rig) (int32, []string) {
			r.frame(0, false)
			r.rc = lib.SQLITE_FULL
			r.header(1, true)
			return r.page(1), []string{"write 8240 at 32", "write 4120 at 32", "sync"}
		},
		"the only frame": func(r *rig) (int32, []string) {
			r.rc = lib.SQLITE_FULL
			r.header(0, true)
			return r.page(0), []string{"write 4120 at 32", "sync"}
		},
		"one for which there is no room": func(r *rig) (int32, []string) {
			for i := range int64(14) {
				r.frame(i, false)
			}
			r.rc = lib.SQLITE_FULL
			r.header(14, false)
			return r.page(14), []string{"write 61800 at 32", "write 57680 at 32", "sync"}
		},
		"a page of another size": func(r *rig) (int32, []string) {
			r.frame(0, false)
			r.header(1, true)
			r.rc = lib.SQLITE_FULL
			return r.put(512, logHeader+frameSize+frameHeader), []string{"write 4144 at 32", "write 4120 at 32", "sync"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.begin()
			rc, want := test(r)
			if rc != lib.SQLITE_FULL {
				t.Errorf("the write gives %d", rc)
			}
			r.rc = lib.SQLITE_OK
			syncLog(r.tls, r.log, 0)
			r.did(want...)
		})
	}
}

func TestAClosedLogIsForgotten(t *testing.T) {
	r := newRig(t)
	r.begin()
	r.frame(0, false)
	if closeLog(r.tls, r.log); fileAt(r.db).log != 0 {
		t.Error("the database still knows it")
	}
	r.did("close")
}
