//go:build tools

// Package tools pins sqlc in go.mod, so that `make generate` runs the same version everywhere.
// The build tag keeps it out of every program: a user of package jobs downloads nothing of it.
// The tools that only check the code have a module of their own, in internal/checks.
package tools

import _ "github.com/sqlc-dev/sqlc/cmd/sqlc"
