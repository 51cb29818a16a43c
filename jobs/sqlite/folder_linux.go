package sqlite

import (
	"errors"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// folder is the directory in which the database lies. To add, remove or rename anything in it sets its ctime, which nobody can
// set back: while that stays as it is, each name in it leads where it led, but for what is mounted there.
type folder struct {
	fd int // -1 where the folder cannot be relied on
	is identity
}

// File systems that are known to keep it so.
var steadyFileSystems = []uint32{unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.TMPFS_MAGIC}

func openFolder(dir string) folder {
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return folder{fd: -1}
	}
	var system unix.Statfs_t
	var stat unix.Stat_t
	if unix.Fstatfs(fd, &system) != nil || !slices.Contains(steadyFileSystems, uint32(system.Type)) || unix.Fstat(fd, &stat) != nil {
		_ = unix.Close(fd)
		return folder{fd: -1}
	}
	return folder{fd, identityOf(stat)}
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

// now is the time that a change of the folder would get, in unix nanoseconds. It may be some ticks behind other clocks, as on a
// virtual machine that was not run for a while. 0 means that it cannot be told.
func (f folder) now() int64 {
	var at unix.Timespec
	if unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &at) != nil {
		return 0
	}
	return at.Nano()
}

// settle waits for a change under way: it sets the ctime first, and may wait for the disk before the name is another. A name
// that nobody has asked for before is looked up under the lock that a change holds from its beginning to its end.
func (f folder) settle() bool {
	var stat unix.Stat_t
	name := ".sqluice-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	return errors.Is(unix.Fstatat(f.fd, name, &stat, unix.AT_SYMLINK_NOFOLLOW), unix.ENOENT)
}

// leads reports whether the path still is that of the folder: the files may have been moved to another one of its name.
func (f folder) leads(dir string) bool {
	found, _, err := identify(dir)
	return err == nil && found.same(f.is)
}

func (f folder) close() {
	if f.fd >= 0 {
		_ = unix.Close(f.fd) // nothing was written through it
	}
}
