//go:build !linux

package serveruser

import (
	"errors"
	"os"
	"syscall"
)

// Attributes refuses root, as PostgreSQL does.
func Attributes(string) (*syscall.SysProcAttr, error) {
	if os.Getuid() == 0 {
		return nil, errors.New("PostgreSQL does not run as root")
	}
	return &syscall.SysProcAttr{}, nil
}

// Give does nothing: the servers run as this user.
func Give(string, *syscall.SysProcAttr) error { return nil }
