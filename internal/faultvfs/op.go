package faultvfs

import lib "modernc.org/sqlite/lib"

// Kind is a sort of operation on a file.
type Kind int

// Any stands for all kinds. Unlocking is none: SQLite takes it for granted that it works.
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

// failure is what SQLite is told when an operation fails.
func (k Kind) failure() int32 {
	return [kinds]int32{
		lib.SQLITE_IOERR, lib.SQLITE_CANTOPEN, lib.SQLITE_IOERR_DELETE, lib.SQLITE_IOERR_ACCESS, lib.SQLITE_IOERR_READ,
		lib.SQLITE_IOERR_WRITE, lib.SQLITE_IOERR_TRUNCATE, lib.SQLITE_IOERR_FSYNC, lib.SQLITE_IOERR_FSTAT,
		lib.SQLITE_IOERR_LOCK, lib.SQLITE_IOERR_SHMMAP, lib.SQLITE_IOERR_SHMLOCK,
	}[k]
}

// Fault is what happens in place of an operation.
type Fault int

const (
	// Fail is an error of the device, before anything was done.
	Fail Fault = iota
	// Full is a write for which there is no room.
	Full
	// Short is a write of which only the first half found room. (There are no short reads: SQLite takes what is missing
	// for zeros beyond the end of the file, so a device that has a file's middle come short lies to it as one does that
	// changes bytes.)
	Short
)

func (f Fault) String() string { return [...]string{"fail", "full", "short"}[f] }

// Fits reports whether the fault can befall an operation: room is needed only to write.
func (f Fault) Fits(k Kind) bool { return f == Fail || k == Write }

// Plan says which operation a fault befalls, and for how long.
type Plan struct {
	Kind  Kind
	At    int // the first one that the fault befalls, counted from 1 among those of the kind that the fault fits
	For   int // how many it befalls one after the other: 1 when 0
	Fault Fault
}

// Seen is what became of a plan.
type Seen struct {
	Ops  [kinds]int // how many operations there were; those of Any are all
	Hits int        // how many of them the fault befell
	Hit  Kind       // the first of them
}
