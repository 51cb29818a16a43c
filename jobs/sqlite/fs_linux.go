package sqlite

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// File systems without locks or shared memory that work between hosts, or at all, by the numbers of statfs(2).
var unsafeFileSystems = map[uint32]string{
	unix.NFS_SUPER_MAGIC:   "NFS",
	unix.SMB_SUPER_MAGIC:   "SMB",
	unix.CIFS_SUPER_MAGIC:  "CIFS",
	unix.SMB2_SUPER_MAGIC:  "SMB",
	unix.FUSE_SUPER_MAGIC:  "FUSE",
	unix.V9FS_MAGIC:        "9P",
	unix.AFS_FS_MAGIC:      "AFS",
	unix.AFS_SUPER_MAGIC:   "AFS",
	unix.CEPH_SUPER_MAGIC:  "Ceph",
	unix.CODA_SUPER_MAGIC:  "Coda",
	unix.OCFS2_SUPER_MAGIC: "OCFS2",
	0x01161970:             "GFS2",
	0x0BD00BD0:             "Lustre",
}

// checkFileSystem refuses a folder on which WAL is not safe.
func checkFileSystem(dir string) error {
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil {
		return fmt.Errorf("folder %s: %w", dir, err)
	}
	if name, bad := unsafeFileSystems[uint32(stat.Type)]; bad {
		return fmt.Errorf("folder %s is on %s: SQLite's WAL mode needs a local file system", dir, name)
	}
	return nil
}
