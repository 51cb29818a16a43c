//go:build unix

package sqlite

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// tryLock takes an exclusive lock on an open file, until the file is closed; it returns false if another holder has it.
func tryLock(file *os.File) (bool, error) {
	err := flock(file, unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// flock locks through os.File, so that no concurrent close can free the descriptor's number for another file.
func flock(file *os.File, how int) error {
	conn, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var result error
	err = conn.Control(func(fd uintptr) {
		for {
			if result = unix.Flock(int(fd), how); result != unix.EINTR {
				return
			}
		}
	})
	return errors.Join(err, result)
}
