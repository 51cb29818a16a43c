package testdb

import "golang.org/x/sys/unix"

const (
	memoryRoom = 8 << 30 // more than the servers of all tests that run at once need

	tmpfsMagic = 0x01021994 // of statfs(2)
)

// memoryDir returns a folder whose files are in memory and that has room for servers, and "" when there is none. A test's database
// is made and dropped there in half of the time.
func memoryDir() string {
	const dir = "/dev/shm"
	var s unix.Statfs_t
	if unix.Statfs(dir, &s) != nil || s.Type != tmpfsMagic || s.Bavail*uint64(s.Bsize) < memoryRoom || unix.Access(dir, unix.W_OK) != nil {
		return ""
	}
	return dir
}
