package main

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// unprivileged makes the server end with this process, however that ends, and run as another user when this one is
// root, which PostgreSQL refuses to be. dir is given to that user. A group of its own keeps the terminal's Ctrl-C from
// it.
func unprivileged(dir string) (*syscall.SysProcAttr, error) {
	attributes := &syscall.SysProcAttr{Pdeathsig: syscall.SIGQUIT, Setpgid: true}
	if os.Getuid() != 0 {
		return attributes, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		account, err := user.Lookup(name)
		var unknown user.UnknownUserError
		if errors.As(err, &unknown) {
			continue
		}
		if err != nil {
			return nil, err
		}
		uid, uidErr := strconv.ParseUint(account.Uid, 10, 32)
		gid, gidErr := strconv.ParseUint(account.Gid, 10, 32)
		if err := errors.Join(uidErr, gidErr); err != nil {
			return nil, fmt.Errorf("user %s: %w", name, err)
		}
		attributes.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		return attributes, os.Chown(dir, int(uid), int(gid))
	}
	return nil, errors.New("PostgreSQL does not run as root, and there is no user postgres or nobody")
}

// ticks a second, in which the kernel tells processor times to every program on Linux.
const ticks = 100

// cpu is what the processes of a temporary server have used so far; 0 when there is none.
func (s *server) cpu() time.Duration {
	if s == nil || s.process == 0 {
		return 0
	}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0
	}
	var sum int64
	for _, path := range stats {
		data, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended: its parent's sum of children has it
		}
		// The name, the second field, is in parentheses and may hold anything.
		_, rest, _ := strings.Cut(string(data), ") ")
		fields := strings.Fields(rest)
		if len(fields) < 15 {
			continue
		}
		used := fields[11:13] // user and system time of the process
		switch strconv.Itoa(s.process) {
		case filepath.Base(filepath.Dir(path)):
			used = fields[11:15] // and of its children that have ended
		case fields[1]: // the parent
		default:
			continue
		}
		for _, field := range used {
			n, err := strconv.ParseInt(field, 10, 64)
			if err != nil {
				return 0
			}
			sum += n
		}
	}
	return time.Duration(sum) * time.Second / ticks
}
