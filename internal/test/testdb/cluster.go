package testdb

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/sqluice/sqluice/internal/test/serveruser"
)

// Cluster is a PostgreSQL server of one test, made from the local binaries, which the test can stop and start. It
// listens on a unix socket only.
type Cluster struct {
	*Postgres
	server     string // the program
	dir        string // of the data and the socket
	arguments  []string
	attributes *syscall.SysProcAttr
	running    *process // nil while it is stopped
}

// StartCluster makes a cluster and starts it. At the end of the test it is stopped and its files are removed. Without
// binaries the test is skipped, and fails where CI=true.
//
// Settings are the server's, and override the defaults, which sync nothing to the disk, since no cluster outlives its
// test. So an immediate stop loses the last commits. {"synchronous_commit": "on"} is enough to keep those, because the
// machine keeps running; "fsync" and "full_page_writes" make the server as slow as a real one.
func StartCluster(tb testing.TB, settings map[string]string) *Cluster {
	tb.Helper()
	binaries, err := postgresBinaries()
	if err != nil {
		unavailable(tb, err)
	}
	all := map[string]string{
		"listen_addresses": "", "logging_collector": "off", "max_wal_size": "256MB",
		"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "max_connections": "500",
	}
	maps.Copy(all, settings)
	parent := ""
	if all["fsync"] == "off" {
		parent = memoryDir()
	}
	c := &Cluster{server: filepath.Join(binaries, "postgres"), dir: shortDir(tb, parent)}
	c.Postgres = &Postgres{cluster: c, url: (&url.URL{
		Scheme: "postgres", User: url.User("sqluice"), Path: "/postgres",
		RawQuery: url.Values{"host": {c.dir}}.Encode(),
	}).String()}
	if c.attributes, err = serveruser.Attributes(c.dir); err != nil {
		unavailable(tb, err)
	}
	c.initialize(tb, binaries)
	c.arguments = []string{"-D", c.DataDir(), "-k", c.dir}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		c.arguments = append(c.arguments, "-c", name+"="+all[name])
	}
	c.Start(tb)
	tb.Cleanup(func() {
		if c.running != nil {
			c.leave(tb)
			c.Stop(tb, "immediate")
		}
	})
	return c
}

// Stop stops the server and returns when it is gone: "fast" rolls transactions back and writes everything down,
// "immediate" is a crash.
func (c *Cluster) Stop(tb testing.TB, mode string) {
	tb.Helper()
	signal, ok := map[string]syscall.Signal{"fast": syscall.SIGINT, "immediate": syscall.SIGQUIT}[mode]
	if !ok || c.running == nil {
		tb.Fatalf("stop PostgreSQL, which runs: %t, in the mode %q", c.running != nil, mode)
	}
	process := c.running
	c.running = nil
	if err := process.stop(signal); err != nil {
		tb.Fatalf("stop PostgreSQL: %v", err)
	}
}

// Start starts the server again, with its former data and address, and returns when it accepts connections.
func (c *Cluster) Start(tb testing.TB) {
	tb.Helper()
	if c.running != nil {
		tb.Fatal("PostgreSQL runs already")
	}
	command := exec.Command(c.server, c.arguments...)
	command.Dir, command.SysProcAttr = c.dir, c.attributes
	c.running = startProcess(tb, command, "database system is ready to accept") // a standby accepts "read-only connections"
}

// DataDir returns the server's data folder: a test that stops the server can make it a standby, by an empty
// standby.signal.
func (c *Cluster) DataDir() string { return filepath.Join(c.dir, "data") }

// shortDir makes a folder in another one, or in the system's for temporary files, that is removed at the end of the test. It is not tb.TempDir, because a socket's path may be
// at most about 100 bytes, and because a server may run as another user.
func shortDir(tb testing.TB, parent string) string {
	tb.Helper()
	dir, err := os.MkdirTemp(parent, "sqluice-")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			tb.Errorf("remove a server's files: %v", err)
		}
	})
	return dir
}

// BinariesVariable names the environment variable that holds the folder of the programs initdb and postgres, to use instead of the
// newest installed ones.
const BinariesVariable = "SQLUICE_TEST_POSTGRES_BIN"

// postgresBinaries returns the folder of [BinariesVariable], or else that of the newest installed server.
func postgresBinaries() (string, error) {
	if folder := os.Getenv(BinariesVariable); folder != "" {
		for _, program := range []string{"initdb", "postgres"} {
			if _, err := exec.LookPath(filepath.Join(folder, program)); err != nil {
				return "", fmt.Errorf("%s: %w", BinariesVariable, err)
			}
		}
		return folder, nil
	}
	folders, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil {
		return "", err
	}
	// By length first, so that 9 comes before 10.
	slices.SortFunc(folders, func(a, b string) int {
		if len(a) != len(b) {
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
	if len(folders) > 0 {
		return folders[len(folders)-1], nil
	}
	initdb, err := exec.LookPath("initdb")
	if err != nil {
		return "", errors.New("find initdb: it is neither in /usr/lib/postgresql/*/bin nor in the PATH")
	}
	return filepath.Dir(initdb), nil
}
