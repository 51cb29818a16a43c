package faultvfs

import lib "modernc.org/sqlite/lib"

// Kind is a sort of operation on a file.
type Kind int

// Any stands for all kinds. Unlocking is not among them: SQLite assumes that it works.
const (
	Any Kind = iota
	Open
	Delete
	Access
	Read
	Write
	Truncate
	Sync
	Size
	Lock
	MapShared
	LockShared
	kinds
)

func (k Kind) String() string {
	return [kinds]string{
		"any", "open", "delete", "access", "read", "write", "truncate", "sync", "size", "lock", "map shared", "lock shared",
	}[k]
}

// failure is SQLite's error code for a failed operation.
func (k Kind) failure() int32 {
	return [kinds]int32{
		lib.SQLITE_IOERR, lib.SQLITE_CANTOPEN, lib.SQLITE_IOERR_DELETE, lib.SQLITE_IOERR_ACCESS, lib.SQLITE_IOERR_READ,
		lib.SQLITE_IOERR_WRITE, lib.SQLITE_IOERR_TRUNCATE, lib.SQLITE_IOERR_FSYNC, lib.SQLITE_IOERR_FSTAT,
		lib.SQLITE_IOERR_LOCK, lib.SQLITE_IOERR_SHMMAP, lib.SQLITE_IOERR_SHMLOCK,
	}[k]
}

// Fault is the replacement for an operation.
type Fault int

const (
	// Fail is an error of the device, before it did anything.
	Fail Fault = iota
	// Full is a write without free space.
	Full
	// Short is a write of which only the first half fits. (There are no short reads: SQLite reads missing bytes as
	// zeros beyond the end of the file, so a device that loses a file's middle lies like one that changes bytes.)
	Short
)

func (f Fault) String() string { return [...]string{"fail", "full", "short"}[f] }

// Fits reports whether the fault can affect an operation: only writes need space.
func (f Fault) Fits(k Kind) bool { return f == Fail || k == Write }

// Plan says which operation a fault affects, and for how long.
type Plan struct {
	Kind  Kind
	At    int // the first affected one, counted from 1 among those of the kind that the fault fits
	For   int // how many it affects one after the other: 1 when 0
	Fault Fault
}

// Seen is the result of a plan.
type Seen struct {
	Ops  [kinds]int // the number of operations; for Any of all
	Hits int        // how many of them the fault affected
	Hit  Kind       // the first of them
}
