package main

import (
	"context"
	"strings"

	"github.com/spf13/pflag"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// revealFlag defines --reveal.
func revealFlag(flags *pflag.FlagSet, reveal *bool) {
	flags.BoolVar(reveal, "reveal", false, "decrypt errors, but no payload, with the keys; the audit log records it")
}

// checkReveal returns a usage error for --reveal without keys.
func (a *app) checkReveal(reveal bool) error {
	if reveal && a.keysFile() == "" {
		return usagef("--reveal needs the keys that errors are encrypted with: name their file with --keys or %s", keysVariable)
	}
	return nil
}

// revealFailed returns a client that decrypts the errors of the failed jobs that a filter finds.
func revealFailed(ctx context.Context, c *jobs.Client, f inspect.FailedFilter) (*jobs.Client, error) {
	filter := map[string]any{"status": jobs.StatusFailed}
	if f.Kind != "" {
		filter["kind"] = f.Kind
	}
	if !f.Since.IsZero() {
		filter["since"] = f.Since
	}
	return c.RevealErrors(ctx, 0, jobs.AuditDetail(map[string]any{"filter": filter}))
}

// warnOfHidden complains of n errors that stay encrypted in spite of --reveal.
func (a *app) warnOfHidden(n int) {
	if n > 0 {
		a.printError("errors that the keys in %s do not decrypt: %d", shown(a.keysFile()), n)
	}
}

// hiddenError reports whether a text stands in place of an encrypted error.
func hiddenError(text string) bool {
	return strings.HasPrefix(text, strings.TrimSuffix(jobs.Encrypted, "]")+" ") && strings.HasSuffix(text, "]")
}
