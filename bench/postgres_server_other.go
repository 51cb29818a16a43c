//go:build !linux

package main

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// unprivileged refuses root, as PostgreSQL does.
func unprivileged(string) (*syscall.SysProcAttr, error) {
	if os.Getuid() == 0 {
		return nil, errors.New("PostgreSQL does not run as root")
	}
	return nil, nil
}

// cpu is not known here.
func (s *server) cpu() time.Duration { return 0 }
