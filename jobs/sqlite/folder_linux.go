package sqlite

import (
	"slices"

	"golang.org/x/sys/unix"
)

// folder is the directory in which the database lies. To add, remove or rename anything in it sets its ctime, which nobody can
// set back: while that stays as it is, each name in it leads where it led.
type folder struct{ fd int }

// File systems that are known to keep it so.
var steadyFileSystems = []uint32{unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.TMPFS_MAGIC}

func openFolder(dir string) folder {
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return folder{-1}
	}
	var stat unix.Statfs_t
	if err := unix.Fstatfs(fd, &stat); err != nil || !slices.Contains(steadyFileSystems, uint32(stat.Type)) {
		_ = unix.Close(fd)
		return folder{-1}
	}
	return folder{fd}
}

// changed is when the folder was changed last, in unix nanoseconds. 0 means that it cannot be told, as where the file system
// knows only whole seconds.
func (f folder) changed() int64 {
	var stat unix.Stat_t
	if f.fd < 0 || unix.Fstat(f.fd, &stat) != nil || stat.Ctim.Nsec == 0 {
		return 0
	}
	return stat.Ctim.Nano()
}

func (f folder) close() {
	if f.fd >= 0 {
		_ = unix.Close(f.fd) // nothing was written through it
	}
}
