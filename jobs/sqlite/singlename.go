package sqlite

import (
	"fmt"
	"os"
)

// checkSingleName refuses a database file that programs can reach by two names. SQLite derives the WAL's name from it:
// with two names there are two WALs, and both sides acknowledge writes that destroy each other's.
func checkSingleName(path string, info os.FileInfo) error {
	if n := links(info); n > 1 {
		return fmt.Errorf("the file has %d names (hard links): programs that open it by different names destroy it; "+
			"remove the other names, and copy databases with `sqluice backup`", n)
	}
	alone, err := mountedAlone(path)
	if err != nil {
		return fmt.Errorf("find the mount of the file: %w", err)
	}
	if alone {
		return fmt.Errorf("the file is mounted by itself, without its folder: programs in front of and behind the mount do not " +
			"see each other's WAL and destroy the database; mount the folder instead (docker run -v FOLDER:FOLDER)")
	}
	return nil
}
