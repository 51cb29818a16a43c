package webhook

import (
	"errors"
	"net"
	"slices"
	"strings"
	"syscall"
)

// resourceErrors holds the errors of a connection for which this machine lacks descriptors, memory or a free port.
var resourceErrors = []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.ENOBUFS, syscall.EADDRNOTAVAIL}

// Unsent reports whether an error of Post means that no byte was sent, because this machine lacks a resource for the connection.
func Unsent(err error) bool {
	var dial *net.OpError
	if !errors.As(err, &dial) || dial.Op != "dial" {
		return false
	}
	var lookup *net.DNSError
	named := errors.As(err, &lookup) // package net keeps only the text of the cause
	return slices.ContainsFunc(resourceErrors, func(lack error) bool {
		return errors.Is(err, lack) || named && strings.Contains(lookup.Err, lack.Error())
	})
}
