package sqlite

import (
	"errors"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// mountedAlone reports whether a file is on another mount than its folder, as after "mount --bind" of the file. It
// returns false where the kernel (before 5.8) or a sandbox does not tell. It does not compare devices: on overlayfs a
// file's may differ from its folder's.
func mountedAlone(path string) (bool, error) {
	file, fileKnown, err := mountOf(path)
	if err != nil {
		return false, err
	}
	folder, folderKnown, err := mountOf(filepath.Dir(path))
	return fileKnown && folderKnown && file != folder, err
}

// mountOf returns the number of a file's mount, if the system reports it.
func mountOf(path string) (id uint64, known bool, err error) {
	var stat unix.Statx_t
	for {
		err = unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_MNT_ID, &stat)
		if err != unix.EINTR {
			break
		}
	}
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		return 0, false, nil
	}
	return stat.Mnt_id, err == nil && stat.Mask&unix.STATX_MNT_ID != 0, err
}
