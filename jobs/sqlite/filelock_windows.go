package sqlite

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// tryLock takes an exclusive lock on an open file, until the file is closed; it returns false if another holder has it.
func tryLock(file *os.File) (bool, error) {
	conn, err := file.SyscallConn()
	if err != nil {
		return false, err
	}
	var result error
	err = conn.Control(func(fd uintptr) {
		const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
		result = windows.LockFileEx(windows.Handle(fd), flags, 0, 1, 0, new(windows.Overlapped))
	})
	if errors.Is(result, windows.ERROR_LOCK_VIOLATION) {
		return false, err
	}
	err = errors.Join(err, result)
	return err == nil, err
}
