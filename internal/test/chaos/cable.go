//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"

	"golang.org/x/sys/unix"
)

// cable is the only connection between two networks: one for a server and one for processes that need it, as on two
// machines. The networks have no name: the kernel removes them with their last process, however this process ends.
type cable struct {
	home, near, far *os.File // the network of this process, the server's and the other one
}

// The ends of a cable.
const (
	cableDevice = "cable"
	nearAddress = "10.77.0.1"
	farAddress  = "10.77.0.2"
	cableNet    = "10.77.0.0/30"
)

// newCable needs root and the program ip. The error is errNotHere where networks cannot be made.
func newCable() (c *cable, err error) {
	if _, err := exec.LookPath("ip"); err != nil {
		return nil, fmt.Errorf("%w: %w", errNotHere, err)
	}
	c = &cable{}
	defer func() {
		if err != nil {
			err = fmt.Errorf("%w: networks cannot be made: %w", errNotHere, errors.Join(err, c.close()))
			c = nil
		}
	}()
	if c.home, err = os.Open("/proc/thread-self/ns/net"); err != nil {
		return c, err
	}
	for _, file := range []**os.File{&c.near, &c.far} {
		if *file, err = c.newNetwork(); err != nil {
			return c, err
		}
	}
	if err := c.atNear(func() error {
		// The other end goes to the network that the program has open as its first file after the usual three.
		return ip([]*os.File{c.far}, "link", "add", "dev", cableDevice, "type", "veth", "peer", "name", cableDevice, "netns", "/proc/self/fd/3")
	}); err != nil {
		return c, err
	}
	return c, errors.Join(c.atNear(func() error { return plug(nearAddress) }), c.atFar(func() error { return plug(farAddress) }))
}

// plug gives an end its address.
func plug(address string) error {
	return errors.Join(
		ip(nil, "link", "set", "dev", "lo", "up"),
		ip(nil, "address", "add", address+"/30", "dev", cableDevice),
		ip(nil, "link", "set", "dev", cableDevice, "up"),
	)
}

func ip(files []*os.File, args ...string) error {
	cmd := exec.Command("ip", args...)
	cmd.ExtraFiles = files
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("ip %v: %w: %s", args, err, said)
	}
	return nil
}

// newNetwork makes a network that lasts while its file is open or a process is in it.
func (c *cable) newNetwork() (file *os.File, err error) {
	err = c.leave(func() error { return unix.Unshare(unix.CLONE_NEWNET) }, func() error {
		file, err = os.Open("/proc/thread-self/ns/net")
		return err
	})
	return file, err
}

// atNear and atFar run fn in a network: the processes that it starts stay there. So do the sockets that it opens, but
// not the work of its other goroutines.
func (c *cable) atNear(fn func() error) error { return c.in(c.near, fn) }
func (c *cable) atFar(fn func() error) error  { return c.in(c.far, fn) }

func (c *cable) in(network *os.File, fn func() error) error {
	return c.leave(func() error { return unix.Setns(int(network.Fd()), unix.CLONE_NEWNET) }, fn)
}

// leave runs fn on a thread that has left this process's network, and brings the thread back.
func (c *cable) leave(enter, fn func() error) (err error) {
	runtime.LockOSThread()
	if err := enter(); err != nil {
		runtime.UnlockOSThread()
		return err
	}
	defer func() {
		if back := unix.Setns(int(c.home.Fd()), unix.CLONE_NEWNET); back != nil {
			err = errors.Join(err, fmt.Errorf("a thread stays in another network: %w", back)) // and ends with its goroutine
			return
		}
		runtime.UnlockOSThread()
	}()
	return fn()
}

// cut is a way to part the two networks without a message to either side.
type cut struct {
	name       string
	make, mend func(*cable) error
}

func cuts() []cut {
	link := func(to string) func() error {
		return func() error { return ip(nil, "link", "set", "dev", cableDevice, to) }
	}
	answers := func(change string) func() error {
		return func() error { return ip(nil, "route", change, "blackhole", farAddress+"/32") }
	}
	return []cut{
		{"the server's link down", func(c *cable) error { return c.atNear(link("down")) }, func(c *cable) error { return c.atNear(link("up")) }},
		{"the worker's link down", func(c *cable) error { return c.atFar(link("down")) }, func(c *cable) error { return c.atFar(link("up")) }},
		// The worker's packets still reach the server.
		{"the server's answers swallowed", func(c *cable) error { return c.atNear(answers("add")) }, func(c *cable) error { return c.atNear(answers("del")) }},
	}
}

// close gives the networks up: they end with the processes in them.
func (c *cable) close() error {
	var errs []error
	for _, file := range []*os.File{c.home, c.near, c.far} {
		if file != nil {
			errs = append(errs, file.Close())
		}
	}
	return errors.Join(errs...)
}
