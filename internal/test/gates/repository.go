// Package gates tests the repository itself: imports of packages, rules for generated code and SQL files, lengths of
// files, words of comments and pages. Its code outside of tests is shared with package sql.
package gates

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Root returns the repository's folder: the nearest one upwards with a go.mod.
func Root() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		_, err := os.Stat(filepath.Join(dir, "go.mod"))
		if err == nil {
			return dir, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no go.mod in %s or above", start)
		}
	}
}

// Files returns the files below a folder of the repository whose names end in suffix, as slash-separated paths relative
// to root, those of inner modules too. It skips hidden folders, testdata, npm's modules and the site that `make docs` builds.
func Files(root, folder, suffix string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return enter(root, path, entry.Name())
		}
		if strings.HasSuffix(path, suffix) {
			relative, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			files = append(files, filepath.ToSlash(relative))
		}
		return nil
	})
	return files, err
}

// enter returns fs.SkipDir for skipped folders.
func enter(root, path, name string) error {
	if path == root {
		return nil
	}
	if name == "testdata" || Foreign(path, name) {
		return fs.SkipDir
	}
	return nil
}

// Foreign reports whether a folder holds files that others wrote or a build made: hidden folders, npm's modules, and the site
// of `make docs`.
func Foreign(path, name string) bool {
	return strings.HasPrefix(name, ".") || name == "node_modules" || name == "dist" || strings.HasSuffix(filepath.ToSlash(path), "site/src")
}
