//go:build !linux

package testdb

import (
	"errors"
	"os"
	"syscall"
)

// unprivileged refuses root, as PostgreSQL does.
func unprivileged(string) (*syscall.SysProcAttr, error) {
	if os.Getuid() == 0 {
		return nil, errors.New("PostgreSQL does not run as root")
	}
	return nil, nil
}
