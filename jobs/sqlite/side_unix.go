//go:build unix

package sqlite

import (
	"errors"
	"os"
	"syscall"
)

// openCarefully holds the flags of an open that follows no link and does not wait for the other end of a FIFO.
const openCarefully = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// giveAway gives a file that this process, as root, has just created the owner of like. Root in a container may lack the
// right to do so, or the owner may have no number there; the file then stays root's, as SQLite's own files do.
func giveAway(file *os.File, like os.FileInfo) error {
	stat, ok := like.Sys().(*syscall.Stat_t)
	if !ok || os.Geteuid() != 0 {
		return nil
	}
	err := file.Chown(int(stat.Uid), int(stat.Gid))
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EINVAL) {
		return nil
	}
	return err
}

// links returns the number of a file's names.
func links(info os.FileInfo) uint64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(stat.Nlink)
	}
	return 1
}
