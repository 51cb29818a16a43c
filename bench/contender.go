package main

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
)

// contender is a system with one of its settings on an engine: one line of the table. Peers join here; peer_list.go
// lists them.
//
// A contender measures nothing. The workloads (workloads.go) are written once for all. They start worker processes that
// play roles: see the constants below. A workload includes every contender that has the roles it needs. This program
// plays a role as a worker process that calls the function in roles. When command is set, another program plays it, and
// can lists its roles. Both speak the protocol of children.go, and get the task with its durability and settings.
//
// A role prepares everything (schema, connections, prepared statements, a worker that polls already) before it reports
// that it is ready. Only the time between "begin" and "done" is measured. A job's payload is [args]. Starts are counted
// by its number, which shows jobs that ran twice or never.
type contender struct {
	name       string // for example "River"
	version    string // of the module or package; see moduleVersion
	engine     string // onSQLite, onPostgreSQL, or one of peerEngines
	settings   string // "default", "best", or a description
	durability string // durabilityNormal or durabilityFull

	slots int // the slots in drains with empty handlers; the number of the run when 0
	share int // the divisor of a drain's jobs, for a slow system: a tenth for 10; all when 0
	timed int // the same where handlers do nothing, for a system whose rate there is that of a timer

	roles   map[string]role // by name, for those in this program
	command []string        // the other program and its first arguments; the task is the last
	can     []string        // roles that the other program knows

	// present says why the system cannot be measured here, for example because a program is not installed; nil when it
	// always can.
	present func(context.Context) error
	// only, when set, names the workloads that it takes part in.
	only []string
	// without names workloads that it takes no part in although it has the roles, with the reason, which is printed.
	without map[string]string
}

// role is the work of one worker process. It calls p.ready before and p.done after the measured part.
type role func(ctx context.Context, t task, p *parent) (report, error)

const (
	// roleBulk adds t.Jobs jobs, numbered from 0, with padding of t.Size bytes, in the fastest durable way. It makes
	// the schema, as does every role that can run first. Drains are filled by it.
	roleBulk = "bulk"
	// roleInsert adds as many one by one, each durable by itself, from t.Callers concurrent callers: insertBy.
	roleInsert = "insert"
	// rolePaced adds t.Jobs jobs at t.Rate a second, t.Batch by one call, and reports when each was sent: pace.
	rolePaced = "paced"
	// roleDrain runs the queue's jobs in t.Concurrency slots, with handlers that take t.Hold each. It reports each
	// start. It is done when no process has an unfinished job left. A system that must poll for that polls at most
	// every 10 ms.
	roleDrain = "drain"
	// roleWork runs a worker, which waits for jobs before it is ready, until t.Jobs jobs have started. It gives up when
	// none came for [lastStart], and reports the started ones.
	roleWork = "work"
	// roleLatency is rolePaced and roleWork in one process. It reports the figures of both.
	roleLatency = "latency"
	// roleIdle runs a worker, which has settled before it is ready, for t.For without a job.
	roleIdle = "idle"
	// roleBacklog adds t.Jobs finished rows, and as many scheduled for tomorrow at the highest priority. Then it does
	// the engine's later work after that many (checkpoint, ANALYZE).
	roleBacklog = "backlog"
)

const (
	durabilityNormal = "normal" // a crash of the machine may lose the last commits
	durabilityFull   = "full"   // it may not
)

// jobsIn returns the contender's number of jobs in a workload of n.
func (c contender) jobsIn(w workload, n int) int {
	share := 1
	switch {
	case c.timed > 0 && slices.Contains([]string{drainAlone, drainBy4, drainBy12}, w.name):
		share = c.timed
	case c.share > 0 && slices.Contains(w.needs, roleDrain):
		share = c.share
	}
	return max(1, n/share)
}

// key names a contender among all others.
func (c contender) key() string {
	return strings.Join([]string{c.name, c.engine, c.settings, c.durability}, "/")
}

// plays reports whether a contender has all roles.
func (c contender) plays(roles ...string) bool {
	for _, r := range roles {
		if c.roles[r] == nil && !slices.Contains(c.can, r) {
			return false
		}
	}
	return true
}

// task begins the task of a worker process of the contender.
func (c contender) task(role string, d database) task {
	return task{
		System: c.key(), Settings: c.settings, Durability: c.durability, Role: role, Path: d.path, command: c.command,
	}
}

// moduleVersion returns the version of a module that this program is built with, or "" when it is built from a folder.
func moduleVersion(path string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, m := range info.Deps {
		if m.Path == path && m.Replace == nil {
			return m.Version
		}
	}
	return ""
}

// findContender returns the contender with that key.
func findContender(all []contender, key string) (contender, error) {
	for _, c := range all {
		if c.key() == key {
			return c, nil
		}
	}
	return contender{}, fmt.Errorf("unknown system %q", key)
}
