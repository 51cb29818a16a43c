package main

import (
	"os/user"
	"strings"
	"unicode"

	"github.com/sqluice/sqluice/jobs"
)

// actor returns the name under which the audit log records this command's changes: see `sqluice audit`.
func actor() string {
	name := "unknown"
	if u, err := user.Current(); err == nil && u.Username != "" {
		name = u.Username
	}
	runes := []rune("cli:" + strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return unicode.ReplacementChar
		}
		return r
	}, strings.ToValidUTF8(name, string(unicode.ReplacementChar))))
	return string(runes[:min(len(runes), jobs.MaxNameLength)])
}
