//go:build !linux

package sqlite

import "os"

// checkFileSystem only checks that the folder exists: this system does not report the type of the file system.
func checkFileSystem(dir string) error {
	_, err := os.Stat(dir)
	return err
}
