//go:build tools

// Package tools pins the build tools in go.mod, so that `make` runs the same versions everywhere.
// The build tag keeps them out of every program: a user of package jobs downloads none of them.
package tools

import (
	_ "github.com/sqlc-dev/sqlc/cmd/sqlc"
	_ "golang.org/x/vuln/cmd/govulncheck"
	_ "honnef.co/go/tools/cmd/staticcheck"
)
