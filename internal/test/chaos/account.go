//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// account is an unprivileged user of the system, whom file permissions bind.
type account struct {
	uid, gid int
	program  string // a copy of this program that the user may run
}

// unprivilegedAccount returns such a user, for a process of root.
func (t *trial) unprivilegedAccount() (*account, error) {
	if os.Getuid() != 0 {
		return nil, fmt.Errorf("%w: only root can start processes of another user", errNotHere)
	}
	found, err := user.Lookup("nobody")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNotHere, err)
	}
	a := &account{program: filepath.Join(t.dir, "program")}
	uid, uidErr := strconv.Atoi(found.Uid)
	gid, gidErr := strconv.Atoi(found.Gid)
	if err := errors.Join(uidErr, gidErr); err != nil {
		return nil, fmt.Errorf("user nobody: %w", err)
	}
	a.uid, a.gid = uid, gid
	if exists(a.program) {
		return a, nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(self)
	if err != nil {
		return nil, err
	}
	// The user may pass through its folder, but not list it.
	return a, errors.Join(os.WriteFile(a.program, data, 0o755), os.Chmod(a.program, 0o755), os.Chmod(t.dir, 0o711))
}

func (a *account) credential() *syscall.Credential {
	return &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}
}

// giveFile gives the user a file.
func (a *account) giveFile(path string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(file.Chown(a.uid, a.gid), file.Close())
}

// giveFolder gives the user a folder and everything in it. No process may have a database in it open.
func (a *account) giveFolder(dir string) error {
	return filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, a.uid, a.gid)
	})
}
