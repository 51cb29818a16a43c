package testdb

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sqluice/sqluice/internal/test/serveruser"
)

// initdbArguments holds the arguments of initdb for every cluster.
var initdbArguments = []string{"--username=sqluice", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions"}

// initialize fills the data folder of a new cluster. initdb takes seconds, and a copy of its earlier result a tenth of that. The
// result is kept in the user's cache folder, for each version of the server.
func (c *Cluster) initialize(tb testing.TB, binaries string) {
	tb.Helper()
	kept := keptFiles(tb, c.server)
	if _, err := os.Stat(kept); err == nil {
		if err := c.copyFiles(kept, c.DataDir()); err != nil {
			tb.Fatalf("copy the files of a new server: %v", err)
		}
		return
	}
	initdb := exec.CommandContext(tb.Context(), filepath.Join(binaries, "initdb"), append(initdbArguments, "--pgdata="+c.DataDir())...)
	initdb.Dir, initdb.SysProcAttr = c.dir, c.attributes
	if output, err := initdb.CombinedOutput(); err != nil {
		tb.Fatalf("initdb: %v\n%s", err, output)
	}
	if kept == "" {
		return
	}
	if err := keep(c.DataDir(), kept); err != nil {
		tb.Logf("the files of a new server are not kept, so each costs an initdb: %v", err)
	}
}

// keptFiles names the folder for what initdb makes for this server; "" when there is no place for it.
func keptFiles(tb testing.TB, server string) string {
	tb.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	version, err := exec.CommandContext(tb.Context(), server, "--version").Output()
	if err != nil {
		tb.Fatalf("the version of %s: %v", server, err)
	}
	key := sha256.Sum256([]byte(string(version) + strings.Join(initdbArguments, " ")))
	return filepath.Join(cache, "sqluice-tests", fmt.Sprintf("postgres-%x", key[:8]))
}

// keep copies a folder to a place where nothing is, at once or not at all. Where another process was faster, its copy stays.
func keep(folder, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	part, err := os.MkdirTemp(filepath.Dir(to), "new-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(part)
	if err := os.CopyFS(filepath.Join(part, "data"), os.DirFS(folder)); err != nil {
		return err
	}
	err = os.Rename(filepath.Join(part, "data"), to)
	if _, there := os.Stat(to); there == nil {
		return nil
	}
	return err
}

// copyFiles copies a folder to a new one that only the server's user may read.
func (c *Cluster) copyFiles(folder, to string) error {
	if err := os.CopyFS(to, os.DirFS(folder)); err != nil {
		return err
	}
	return filepath.WalkDir(to, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		mode := fs.FileMode(0o600)
		if entry.IsDir() {
			mode = 0o700
		}
		if err := os.Chmod(path, mode); err != nil {
			return err
		}
		return serveruser.Give(path, c.attributes)
	})
}
