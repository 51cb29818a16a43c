package testdb

import (
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

	"github.com/jackc/pgx/v5"
	"github.com/sqluice/sqluice/internal/test/serveruser"
)

// PgBouncer is a connection pooler of one test in front of a PostgreSQL server. It listens on a unix socket only.
type PgBouncer struct {
	program    string
	dir        string // of the socket and the configuration
	attributes *syscall.SysProcAttr
	running    *process // nil while it is stopped
}

// StartPgBouncer starts pgbouncer in front of the server that the URL of one of its users leads to, for all its
// databases and users. At the end of the test it is stopped. It pools transactions unless the settings, which are
// pgbouncer's, say otherwise. Without the program the test is skipped, and fails where CI=true.
func StartPgBouncer(tb testing.TB, clusterURL string, settings map[string]string) *PgBouncer {
	tb.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		program, err = exec.LookPath("/usr/sbin/pgbouncer")
	}
	if err != nil {
		notTested(tb, "PgBouncer", err, "install pgbouncer")
	}
	server, err := pgx.ParseConfig(clusterURL)
	if err != nil {
		tb.Fatal(err)
	}
	b := &PgBouncer{program: program, dir: shortDir(tb, "")}
	if b.attributes, err = serveruser.Attributes(b.dir); err != nil {
		notTested(tb, "PgBouncer", err, "run the tests as another user")
	}
	all := map[string]string{
		"listen_addr": "", "listen_port": "6432", "unix_socket_dir": b.dir, "pool_mode": "transaction",
		// Users that are not in the file are looked up on the server.
		"auth_type": "trust", "auth_file": filepath.Join(b.dir, "users.txt"), "auth_user": server.User,
		"admin_users": server.User, "max_client_conn": "1000",
	}
	maps.Copy(all, settings)
	var text strings.Builder
	fmt.Fprintf(&text, "[databases]\n* = host=%s port=%d\n[pgbouncer]\n", server.Host, server.Port)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&text, "%s = %s\n", name, all[name])
	}
	b.write(tb, "pgbouncer.ini", text.String())
	b.write(tb, "users.txt", fmt.Sprintf("%q %q\n", server.User, server.Password))
	b.start(tb)
	tb.Cleanup(func() {
		if b.running != nil {
			b.stop(tb)
		}
	})
	return b
}

// URL returns the URL of a server's database through the pooler.
func (b *PgBouncer) URL(databaseURL string) string {
	parsed, err := url.Parse(databaseURL)
	if err != nil {
		panic(err) // a URL by this package
	}
	parsed.Host = ""
	query := parsed.Query()
	query.Set("host", b.dir)
	query.Set("port", "6432")
	parsed.RawQuery = query.Encode()
	return parsed.String()
}

// Restart ends the pooler at once, with all its connections, and starts it again.
func (b *PgBouncer) Restart(tb testing.TB) {
	tb.Helper()
	b.stop(tb)
	b.start(tb)
}

func (b *PgBouncer) start(tb testing.TB) {
	tb.Helper()
	command := exec.Command(b.program, filepath.Join(b.dir, "pgbouncer.ini"))
	command.Dir, command.SysProcAttr = b.dir, b.attributes
	b.running = startProcess(tb, command, "process up")
}

func (b *PgBouncer) stop(tb testing.TB) {
	tb.Helper()
	process := b.running
	b.running = nil
	if err := process.stop(syscall.SIGTERM); err != nil {
		tb.Fatalf("stop pgbouncer: %v", err)
	}
}

// write makes a file that the pooler's user can read.
func (b *PgBouncer) write(tb testing.TB, name, text string) {
	tb.Helper()
	if err := os.WriteFile(filepath.Join(b.dir, name), []byte(text), 0o644); err != nil {
		tb.Fatal(err)
	}
}
