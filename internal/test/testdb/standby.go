package testdb

import (
	"context"
	"net/url"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/sqluice/sqluice/internal/test/serveruser"
)

// standbyName is the name by which a standby connects, for the synchronous_standby_names of the primary.
const standbyName = "sqluice_standby"

// StartStandby makes a standby of the cluster and starts it. It follows the primary by the address via, a folder with its socket or a proxy
// before it; empty means the primary itself. The primary's commits wait for it from now on. Promote makes it a server of its own.
func (c *Cluster) StartStandby(tb testing.TB, via string) *Cluster {
	tb.Helper()
	if via == "" {
		via = c.dir
	}
	s := &Cluster{server: c.server, dir: shortDir(tb, filepath.Dir(c.dir))}
	s.Postgres = &Postgres{cluster: s, url: (&url.URL{
		Scheme: "postgres", User: url.User("sqluice"), Path: "/postgres", RawQuery: url.Values{"host": {s.dir}}.Encode(),
	}).String()}
	var err error
	if s.attributes, err = serveruser.Attributes(s.dir); err != nil {
		unavailable(tb, err)
	}
	backup := exec.CommandContext(tb.Context(), filepath.Join(filepath.Dir(c.server), "pg_basebackup"), "--pgdata="+s.DataDir(),
		"--dbname=host="+via+" user=sqluice application_name="+standbyName, "--write-recovery-conf", "--checkpoint=fast", "--no-sync")
	backup.Dir, backup.SysProcAttr = s.dir, s.attributes
	if output, err := backup.CombinedOutput(); err != nil {
		tb.Fatalf("pg_basebackup: %v\n%s", err, output)
	}
	s.arguments = append([]string{"-D", s.DataDir(), "-k", s.dir}, c.arguments[4:]...)
	s.Start(tb)
	tb.Cleanup(func() {
		if s.running != nil {
			s.leave(tb)
			s.Stop(tb, "immediate")
		}
		if c.running != nil { // its later commits, as of DROP DATABASE, have no standby to wait for
			c.alter(tb, "ALTER SYSTEM RESET synchronous_standby_names", "SELECT pg_reload_conf()")
		}
	})
	c.alter(tb, "ALTER SYSTEM SET synchronous_standby_names = '"+standbyName+"'", "SELECT pg_reload_conf()")
	return s
}

// Promote makes a standby a server that takes writes.
func (c *Cluster) Promote(tb testing.TB) {
	tb.Helper()
	c.alter(tb, "SELECT pg_promote()")
}

// alter runs statements as the server's administrator.
func (c *Cluster) alter(tb testing.TB, statements ...string) {
	tb.Helper()
	for _, statement := range statements {
		if err := c.administer(context.WithoutCancel(tb.Context()), func(*pgx.Conn) string { return statement }); err != nil {
			tb.Fatal(err)
		}
	}
}
