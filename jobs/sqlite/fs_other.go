//go:build !linux

package sqlite

import "os"

// checkFileSystem only looks whether the folder is there: this system does not tell what file system it is on.
func checkFileSystem(dir string) error {
	_, err := os.Stat(dir)
	return err
}
