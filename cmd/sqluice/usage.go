package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sqluice/sqluice/jobs"
)

// usageError is a fault of the command line: the exit code is 2, and nothing was changed.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// nameFlags turns the [jobs.InvalidError]s in err's tree into a usage error that names the flags of the values. flags maps the
// library's fields to flags. It returns any other error unchanged.
func nameFlags(err error, flags map[string]string) error {
	var texts []string
	for _, invalid := range invalidErrors(err) {
		named := *invalid
		named.Value = shown(named.Value)
		if flag, ok := flags[named.Field]; ok {
			named.Field = flag
		}
		texts = append(texts, named.Error())
	}
	if len(texts) == 0 {
		return err
	}
	return usagef("%s", strings.Join(texts, "; "))
}

func invalidErrors(err error) []*jobs.InvalidError {
	switch e := err.(type) {
	case *jobs.InvalidError:
		return []*jobs.InvalidError{e}
	case interface{ Unwrap() error }:
		return invalidErrors(e.Unwrap())
	case interface{ Unwrap() []error }:
		var all []*jobs.InvalidError
		for _, one := range e.Unwrap() {
			all = append(all, invalidErrors(one)...)
		}
		return all
	}
	return nil
}

// payloadName names the argument that is a payload.
const payloadName = "PAYLOAD"

// argCount checks that a command has from least to most arguments. names holds their names in order.
func argCount(least, most int, names ...string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return usagef("%s is missing", names[len(args)])
		case len(args) > most && slices.Contains(names, payloadName): // it may be the payload, which no error shows
			return usagef("argument %d is not expected: the command takes only %s; quote a %s for the shell", most+1, strings.Join(names, " and "), payloadName)
		case len(args) > most && most == 0:
			return usagef("%q is not expected: the command takes no arguments", shown(args[0]))
		case len(args) > most:
			return usagef("%q is not expected: the command takes only %s", shown(args[most]), strings.Join(names, " and "))
		}
		return nil
	}
}

// noArgs returns the check of arguments for a command without arguments.
func noArgs() cobra.PositionalArgs { return argCount(0, 0) }
