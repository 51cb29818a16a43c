package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// toolchainSource returns the source folder of the Go toolchain.
func toolchainSource(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("ask `go env GOROOT` for the toolchain's source: %w", err)
	}
	return filepath.Join(strings.TrimSpace(string(out)), "src"), nil
}

// findFiles lists the regular .go files below a folder as slash-separated paths relative to it.
func findFiles(folder string) ([]string, error) {
	var paths []string
	err := fs.WalkDir(os.DirFS(folder), ".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() && strings.HasSuffix(path, ".go") {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list the Go files of %s: %w", folder, err)
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("folder %s holds no .go file", folder)
	}
	return paths, nil
}
