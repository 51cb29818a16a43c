//go:build unix

package sqlite

import (
	"os"

	"golang.org/x/sys/unix"
)

// identity identifies a file, whatever its path. Every write checks it, for which os.Stat would cost too much.
type identity struct{ device, inode uint64 }

// identify returns the identity and the size of a file.
func identify(path string) (identity, int64, error) {
	var stat unix.Stat_t
	for {
		err := unix.Stat(path, &stat)
		if err == nil {
			return identityOf(stat), stat.Size, nil
		}
		if err != unix.EINTR {
			return identity{}, 0, &os.PathError{Op: "stat", Path: path, Err: err}
		}
	}
}

func identityOf(stat unix.Stat_t) identity { return identity{uint64(stat.Dev), uint64(stat.Ino)} }

func (i identity) same(other identity) bool { return i == other }
