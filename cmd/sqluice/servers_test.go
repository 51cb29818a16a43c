//go:build unix

package main

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// TestServers has its own cluster, because it changes the cluster's roles, rules and state.
func TestServers(t *testing.T) {
	// An immediate stop must not lose acknowledged commits.
	cluster := testdb.StartCluster(t, map[string]string{"synchronous_commit": "on"})
	owner := &cli{t, cluster.Database(t)}
	owner.ok("up")
	execute(t, owner.db, "roles.sql")
	rules := filepath.Join(cluster.DataDir(), "pg_hba.conf")
	text, err := os.ReadFile(rules)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(rules, append([]byte("local all guarded scram-sha-256\n"), text...), 0o600); err != nil {
		t.Fatal(err)
	}
	cluster.Stop(t, "fast")
	cluster.Start(t)

	as := func(t *testing.T, role, password string) *cli {
		t.Helper()
		address, err := url.Parse(owner.db)
		if err != nil {
			t.Fatal(err)
		}
		address.User = url.UserPassword(role, password)
		return &cli{t, address.String()}
	}
	t.Run("a password is used and not shown", func(t *testing.T) {
		aPasswordIsUsedAndNotShown(t, as(t, "guarded", `a@b/c?d#e%f&g=h:i+secret'"\ j`))
	})
	t.Run("roles that lack something", func(t *testing.T) { rolesThatLackSomething(t, owner, as) })
	t.Run("away for a while", func(t *testing.T) { awayForAWhile(t, cluster, &cli{t, owner.db}) })
	t.Run("top while it is away", func(t *testing.T) {
		topGoesOn(t, &cli{t, owner.db}, func() { cluster.Stop(t, "fast") }, func() { cluster.Start(t) })
	})
	t.Run("a standby", func(t *testing.T) { aStandby(t, cluster, &cli{t, owner.db}) })
}

func aPasswordIsUsedAndNotShown(t *testing.T, c *cli) {
	program := execFlag(t, "k", "echo")
	for _, args := range [][]string{
		{"status"}, {"status", "--json"}, {"up"}, {"enqueue", "k"}, {"list"}, {"list", "--json"}, {"show", "1"}, {"stats"},
		{"work", "--drain", "--log-level", "debug", "--exec", program}, {"wait", "1"}, {"queues"}, {"version"}, {"version", "--json"},
	} {
		silent(t, strings.Join(args, " "), c.run(args...), exitOK)
	}
	worker := c.start("work", "--log-level", "debug", "--name", "w", "--exec", program)
	eventually(t, "the worker is listed", func() bool { return len(get[[]inspect.WorkerInfo](c, "workers")) == 1 })
	silent(t, "workers", c.run("workers"), exitOK)
	silent(t, "workers --json", c.run("workers", "--json"), exitOK)
	silent(t, "a second worker of the name", c.run("work", "--name", "w", "--exec", program), exitFailure)
	worker.signal(syscall.SIGTERM)
	worker.wantExit(exitOK)
	silent(t, "work", answer{exitOK, worker.out.String(), worker.errs.String()}, exitOK)

	wrong := &cli{t, strings.Replace(c.db, "secret", "wrongsecret", 1)}
	for _, args := range [][]string{{"list"}, {"status"}, {"up"}, {"down"}, {"enqueue", "k"}, {"work", "--exec", program}} {
		silent(t, "a wrong password", wrong.run(args...), exitFailure)
		wrong.fails(exitFailure, []string{"password authentication failed", "guarded"}, args...)
	}
}

func rolesThatLackSomething(t *testing.T, owner *cli, as func(t *testing.T, role, password string) *cli) {
	program := execFlag(t, "k", "echo")
	stranger := as(t, "stranger", "secret")
	for _, args := range [][]string{{"list"}, {"status"}, {"up"}, {"down"}, {"enqueue", "k"}, {"work", "--exec", program}} {
		stranger.fails(exitFailure, []string{"privilege", "permission denied"}, args...)
	}
	stranger.fails(exitFailure, []string{"create a schema for the bench", "GRANT CREATE ON DATABASE", "permission denied"}, "bench")
	reader := as(t, "reader", "secret")
	for _, args := range [][]string{{"list"}, {"status"}, {"stats"}, {"workers"}, {"queues"}, {"failed"}} {
		reader.ok(args...)
	}
	for _, args := range [][]string{{"enqueue", "k"}, {"work", "--exec", program}, {"prune", "--older-than", "1h"}, {"queues", "pause", "q"}} {
		reader.fails(exitFailure, []string{"privilege", "permission denied"}, args...)
	}
	runner := as(t, "runner", "secret")
	id := runner.enqueue("k")
	runner.drain(program)
	if job := owner.show(id); job.Status != jobs.StatusDone {
		t.Errorf("the job is %s", job.Status)
	}
	runner.ok("prune", "--older-than", "0s")
	if out := runner.ok("up"); !strings.Contains(out, "nothing to do") {
		t.Errorf("up prints %q", out)
	}
	runner.fails(exitFailure, []string{"privilege", "migrate as the role that owns", "SQLSTATE 42501"}, "down")
	stranger.fails(exitFailure, []string{"privilege", "migrate as the role that owns"}, "up")
	crowded := as(t, "crowded", "secret")
	crowded.fails(exitFailure, []string{"cannot be reached", "too many connections"}, "list")
}

// awayForAWhile stops the server: commands fail at once, workers wait.
func awayForAWhile(t *testing.T, cluster *testdb.Cluster, c *cli) {
	first, second := c.enqueue("k", "1"), c.enqueue("k", "--queue", "other", "2")
	cluster.Stop(t, "fast")
	for _, args := range [][]string{
		{"list"}, {"status"}, {"up"}, {"down"}, {"enqueue", "k"}, {"wait", first}, {"retry", "--failed"}, {"prune", "--older-than", "1h"},
	} {
		a := c.run(args...)
		if a.code != exitFailure || a.out != "" || !strings.Contains(a.err, "cannot be reached") {
			t.Errorf("sqluice %q: %+v", args, a)
		}
	}
	worker := c.start("work", "--exec", execFlag(t, "k", "echo"))
	stopped := c.start("work", "--exec", execFlag(t, "k", "echo"))
	for _, p := range []*process{worker, stopped} {
		eventually(t, "the worker waits", func() bool { return strings.Contains(p.errs.String(), "trying again") })
	}
	stopped.signal(syscall.SIGTERM)
	stopped.wantExit(exitOK)
	cluster.Start(t)
	if out := c.ok("wait", first); out != "1\n" {
		t.Errorf("wait prints %q", out)
	}

	failures := strings.Count(worker.errs.String(), "trying again")
	cluster.Stop(t, "immediate")
	eventually(t, "the worker has noticed", func() bool { return strings.Count(worker.errs.String(), "trying again") > failures })
	cluster.Start(t)
	third := c.enqueue("k", "3")
	if out := c.ok("wait", third); out != "3\n" {
		t.Errorf("wait prints %q", out)
	}
	worker.signal(syscall.SIGTERM)
	worker.wantExit(exitOK)
	if job := c.show(second); job.Status != jobs.StatusPending {
		t.Errorf("the job of another queue is %s", job.Status)
	}
	if workers := get[[]inspect.WorkerInfo](c, "workers"); len(workers) != 0 {
		t.Errorf("the workers are %+v", workers)
	}
}

// aStandby makes the server a read-only standby, and leaves it stopped.
func aStandby(t *testing.T, cluster *testdb.Cluster, c *cli) {
	id := c.enqueue("k")
	cluster.Stop(t, "fast")
	if err := os.WriteFile(filepath.Join(cluster.DataDir(), "standby.signal"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	cluster.Start(t)
	for _, args := range [][]string{{"list"}, {"status"}, {"stats"}, {"workers"}, {"show", id}} {
		c.ok(args...)
	}
	for _, args := range [][]string{
		{"enqueue", "k"}, {"cancel", id}, {"delete", id}, {"down"}, {"prune", "--older-than", "1h"}, {"queues", "pause", "q"},
	} {
		a := c.run(args...)
		if a.code != exitFailure || !strings.Contains(a.err, "read-only") && !strings.Contains(a.err, "during recovery") {
			t.Errorf("sqluice %q: %+v", args, a)
		}
	}
	worker := c.start("work", "--exec", execFlag(t, "k", "echo"))
	eventually(t, "the worker waits", func() bool { return strings.Contains(worker.errs.String(), "read-only") })
	worker.signal(syscall.SIGTERM)
	worker.wantExit(exitOK)
	if job := c.show(id); job.Status != jobs.StatusPending {
		t.Errorf("the job is %s", job.Status)
	}
	cluster.Stop(t, "fast")
}
