package faultvfs

import (
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// The functions that SQLite calls, by their parameters.
type (
	openFunc   = func(tls *libc.TLS, vfs, name, file uintptr, flags int32, outFlags uintptr) int32
	deleteFunc = func(tls *libc.TLS, vfs, name uintptr, syncDir int32) int32
	accessFunc = func(tls *libc.TLS, vfs, name uintptr, flags int32, result uintptr) int32

	fileFunc     = func(tls *libc.TLS, file uintptr) int32
	transferFunc = func(tls *libc.TLS, file, data uintptr, size int32, offset int64) int32
	truncateFunc = func(tls *libc.TLS, file uintptr, size int64) int32
	numberFunc   = func(tls *libc.TLS, file uintptr, n int32) int32
	resultFunc   = func(tls *libc.TLS, file, result uintptr) int32
	controlFunc  = func(tls *libc.TLS, file uintptr, op int32, arg uintptr) int32
	mapFunc      = func(tls *libc.TLS, file uintptr, region, size, extend int32, result uintptr) int32
	lockFunc     = func(tls *libc.TLS, file uintptr, offset, n, flags int32) int32
	barrierFunc  = func(tls *libc.TLS, file uintptr)
)

// calls holds the functions of a layer, while SQLite has their addresses.
type calls struct {
	open        openFunc
	delete      deleteFunc
	access      accessFunc
	close       fileFunc
	read, write transferFunc
	truncate    truncateFunc
	sync        numberFunc
	size        resultFunc
	lock        numberFunc
	unlock      numberFunc
	reserved    resultFunc
	control     controlFunc
	sector      fileFunc
	device      fileFunc
	mapShared   mapFunc
	lockShared  lockFunc
	barrier     barrierFunc
	unmap       numberFunc
}

func (c *calls) installVFS(v *lib.Tsqlite3_vfs) {
	v.FxOpen, v.FxDelete, v.FxAccess = address(&c.open), address(&c.delete), address(&c.access)
}

// installMethods leaves out xFetch and xUnfetch, which are for databases in mapped memory: the version says so.
func (c *calls) installMethods(m *lib.Tsqlite3_io_methods) {
	*m = lib.Tsqlite3_io_methods{
		FiVersion: 2, FxClose: address(&c.close), FxRead: address(&c.read), FxWrite: address(&c.write),
		FxTruncate: address(&c.truncate), FxSync: address(&c.sync), FxFileSize: address(&c.size),
		FxLock: address(&c.lock), FxUnlock: address(&c.unlock), FxCheckReservedLock: address(&c.reserved),
		FxFileControl: address(&c.control), FxSectorSize: address(&c.sector), FxDeviceCharacteristics: address(&c.device),
		FxShmMap: address(&c.mapShared), FxShmLock: address(&c.lockShared), FxShmBarrier: address(&c.barrier),
		FxShmUnmap: address(&c.unmap),
	}
}

// at returns the value at an address of SQLite's.
func at[T any](p uintptr) *T { return *(**T)(unsafe.Pointer(&p)) }

// address returns the value by which SQLite, which was C, calls a function.
func address[F any](fn *F) uintptr { return *(*uintptr)(unsafe.Pointer(fn)) }

// function is the opposite of address.
func function[F any](p uintptr) F {
	at := &struct{ p uintptr }{p}
	return *(*F)(unsafe.Pointer(at))
}
