package webhook

import (
	"errors"
	"net"
	"slices"
	"strings"
	"syscall"
)

// lacks are the errors of a connection for which this machine lacks something: descriptors, memory, or a free port.
var lacks = []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.ENOBUFS, syscall.EADDRNOTAVAIL}

// Unsent reports whether an error of Post says that this machine lacked what a connection needs. Nothing was sent then.
func Unsent(err error) bool {
	var dial *net.OpError
	if !errors.As(err, &dial) || dial.Op != "dial" {
		return false
	}
	var lookup *net.DNSError
	named := errors.As(err, &lookup) // package net keeps the text alone
	return slices.ContainsFunc(lacks, func(lack error) bool {
		return errors.Is(err, lack) || named && strings.Contains(lookup.Err, lack.Error())
	})
}
