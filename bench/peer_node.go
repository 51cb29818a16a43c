package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/sqluice/sqluice/bench/node"
)

// nodeFolder has the programs of the peers for Node.js; the harness runs in bench/.
const nodeFolder = "node"

// nodeRoles holds the roles of node/*.js. There is no backlog: Graphile Worker keeps no finished jobs.
var nodeRoles = []string{roleBulk, roleInsert, rolePaced, roleDrain, roleWork, roleLatency, roleIdle}

// nodePeers returns the queues for Node.js. Node.js has one thread for JavaScript, so each is measured
// with several processes too.
func nodePeers() []contender {
	const once = "settings have no part in an insert: see the best ones"
	const slow = "it runs one job at a time, and would take longer than a run may"
	graphile := nodePeer("Graphile Worker", "graphile-worker", "graphile")
	graphile.slots, graphile.can = 24, append(slices.Clone(nodeRoles), roleLimited)
	graphileDefault := graphile
	graphileDefault.settings, graphileDefault.slots, graphileDefault.share = "default", 1, 10
	graphileDefault.without = map[string]string{
		insertOne: once, insertTogether: once, bulkInsert: once,
		handlersShort: slow, handlersMiddle: slow, handlersLong: slow,
	}
	boss := nodePeer("pg-boss", "pg-boss", "pgboss")
	boss.slots, boss.can = 2000, append(slices.Clone(nodeRoles), roleLimited)
	bossDefault := boss
	bossDefault.settings, bossDefault.slots = "default", 1
	// A worker takes one job each 2 seconds: 50 a second would never be served, and 100,000 would take two days.
	bossDefault.can = []string{roleIdle}
	return append([]contender{graphileDefault, graphile, bossDefault, boss}, bullmqs()...)
}

// nodePeer returns a peer on PostgreSQL in its best settings.
func nodePeer(name, module, file string) contender {
	return contender{
		name: name, version: nodeVersion(module), engine: onPostgreSQL, settings: "best", durability: durabilityFull,
		command: []string{node.Program(nodeFolder), filepath.Join(nodeFolder, "worker.js"), file}, can: nodeRoles,
		present: func(ctx context.Context) error { return node.Check(ctx, nodeFolder) },
	}
}

// nodeVersion returns the version that package.json requires, and "" outside of bench/.
func nodeVersion(module string) string {
	data, err := os.ReadFile(filepath.Join(nodeFolder, "package.json"))
	if err != nil {
		return ""
	}
	var manifest struct {
		Dependencies map[string]string `json:"dependencies"`
	}
	if err := json.Unmarshal(data, &manifest); err != nil {
		panic(fmt.Sprintf("%s/package.json: %v", nodeFolder, err))
	}
	return manifest.Dependencies[module]
}
