package main

import (
	"errors"
	"runtime"
	"slices"
	"strings"
)

// passedVariables returns the environment variables that every program gets from its worker, in addition to all with the prefix LC_.
func passedVariables() []string {
	names := []string{"PATH", "HOME", "LANG", "TZ", "TMPDIR", "USER", "LOGNAME", "SHELL"}
	if runtime.GOOS == "windows" {
		names = append(names, "SYSTEMROOT", "COMSPEC", "PATHEXT", "TEMP", "TMP", "USERNAME", "USERPROFILE")
	}
	return names
}

// programEnvironment returns the variables of the worker's environment for programs: the ones that programs commonly need, and the ones
// that --env names. So programs do not get the database's URL or the server's token.
func programEnvironment(environment, named []string) (passed []string) {
	for _, pair := range environment {
		name, _, _ := strings.Cut(pair, "=")
		if runtime.GOOS == "windows" {
			name = strings.ToUpper(name) // names have no case there
		}
		if slices.Contains(passedVariables(), name) || strings.HasPrefix(name, "LC_") || slices.Contains(named, name) {
			passed = append(passed, pair)
		}
	}
	return passed
}

// unsetVariables returns the names that the environment does not have.
func unsetVariables(environment, named []string) (unset []string) {
	for _, name := range named {
		if !slices.ContainsFunc(environment, func(pair string) bool { return strings.HasPrefix(pair, name+"=") }) {
			unset = append(unset, name)
		}
	}
	return unset
}

// envValue collects the names of --env.
type envValue struct{ names *[]string }

func (v *envValue) Set(name string) error {
	switch {
	case name == "" || strings.ContainsRune(name, '\x00'):
		return errors.New("be the name of an environment variable")
	case strings.Contains(name, "="):
		return errors.New("be a name without a value: set the variable in the worker's environment")
	case !slices.Contains(*v.names, name):
		*v.names = append(*v.names, name)
	}
	return nil
}

func (v *envValue) String() string { return "" }
func (v *envValue) Type() string   { return "NAME" }
