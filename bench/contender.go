package main

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
)

// contender is a system in one of its settings on an engine: what a line of the table is about. This is the seam by
// which peers join; peer_list.go lists them.
//
// A contender measures nothing. The workloads (workloads.go) are written once for all, and start worker processes that
// play roles: see the constants below. A workload takes in every contender that knows the roles it needs. A role is
// played by this program, run again as a worker process that calls the function in roles; or, when command is set, by
// another program, which says in can what it knows. Both speak the protocol of children.go, and get the task with the
// durability and the settings that are meant.
//
// Whatever a role needs before it can begin (schema, connections, prepared statements, a worker that polls already) it
// makes before it says that it is ready; what lies between "begin" and "done" is measured, the rest is not. A job's
// payload is [args]; its number is what starts are counted by, so that a job that ran twice or never shows.
type contender struct {
	name       string // as "River"
	version    string // of the module or package; see moduleVersion
	engine     string // onSQLite, onPostgreSQL, or one of peerEngines
	settings   string // "default", "best", or what they are
	durability string // durabilityNormal or durabilityFull

	slots int // of drains whose handlers do nothing; as many as the run says when 0
	share int // of a drain's jobs, for one that is too slow for all of them: a tenth for 10; all when 0
	timed int // the same where handlers do nothing, for one whose rate there is that of a timer

	roles   map[string]role // by name, for those in this program
	command []string        // the other program and its first arguments; the task is the last
	can     []string        // roles that the other program knows

	// present says why the system cannot be measured here, as when a program is not installed; nil when it always can.
	present func(context.Context) error
	// only, when set, are the workloads that it takes part in, by name.
	only []string
	// without are workloads, by name, that it takes no part in although it knows the roles, and why: that is printed.
	without map[string]string
}

// role is the work of one worker process. It calls p.ready before and p.done after what is measured.
type role func(ctx context.Context, t task, p *parent) (report, error)

const (
	// roleBulk adds t.Jobs jobs, numbered from 0, with padding of t.Size bytes, in the fastest way that is durable. It
	// makes the schema, as every role does that can come first. Drains are filled by it.
	roleBulk = "bulk"
	// roleInsert adds as many one by one, each durable by itself, from t.Callers callers at the same time: insertBy.
	roleInsert = "insert"
	// rolePaced adds t.Jobs jobs at t.Rate a second, t.Batch by one call, and reports when each was sent: pace.
	rolePaced = "paced"
	// roleDrain runs what there is in t.Concurrency slots, its handlers taking t.Hold each, reports each start, and is
	// done when nothing unfinished is left in the queue, for any process. Whoever has to poll for that does it at most
	// 10 ms apart.
	roleDrain = "drain"
	// roleWork runs a worker, which waits for jobs before it is ready, until t.Jobs jobs have been started; it gives up
	// when none came for [lastStart], and reports those that did.
	roleWork = "work"
	// roleLatency is rolePaced and roleWork in one process. It reports what both report.
	roleLatency = "latency"
	// roleIdle runs a worker, which has settled before it is ready, for t.For without a job.
	roleIdle = "idle"
	// roleBacklog adds t.Jobs finished rows, and as many scheduled for tomorrow at the highest priority, and does what
	// the engine does in time after that many (checkpoint, ANALYZE).
	roleBacklog = "backlog"
)

const (
	durabilityNormal = "normal" // a crash of the machine may lose the last commits
	durabilityFull   = "full"   // it may not
)

// jobsIn is how many jobs of a workload, which has n, the contender gets.
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

// plays says whether a contender knows all roles.
func (c contender) plays(roles ...string) bool {
	for _, r := range roles {
		if c.roles[r] == nil && !slices.Contains(c.can, r) {
			return false
		}
	}
	return true
}

// task begins the description of what a worker process of the contender is to do.
func (c contender) task(role string, d database) task {
	return task{
		System: c.key(), Settings: c.settings, Durability: c.durability, Role: role, Path: d.path, command: c.command,
	}
}

// moduleVersion is that of a module that this program is built with; none when it is built from a folder.
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

// findContender is the one of that key.
func findContender(all []contender, key string) (contender, error) {
	for _, c := range all {
		if c.key() == key {
			return c, nil
		}
	}
	return contender{}, fmt.Errorf("no system is called %q", key)
}
