package main

import (
	"context"
	"time"
)

// workload is a task in which systems are compared.
type workload struct {
	name    string
	engines []string       // all when nil
	needs   []string       // roles of a system that takes part
	share   int            // the divisor of -n: a third for 3
	shares  map[string]int // the same on an engine where it differs
	long    bool           // left out unless asked for
	once    bool           // one round, whatever the number of rounds
	brief   bool           // one round unless all workloads, or a number of rounds, are requested
	alone   bool           // each system is compared with its own first variant instead of the first system
	lines   []variant
}

// variant is a version of a workload: a line for each system.
type variant struct {
	settings string // added to those of the system
	measure  func(ctx context.Context, r running) (figures, error)
}

// running is a run of a system in a workload.
type running struct {
	settings
	contender contender
	database  database
	n         int
}

// simply returns the only variant of a workload.
func simply(measure func(context.Context, running) (figures, error)) []variant {
	return []variant{{measure: measure}}
}

const (
	insertOne      = "insert one by one"
	insertTogether = "insert by 64 callers"
	bulkInsert     = "bulk insert"
	drainAlone     = "drain"
	drainBy4       = "drain by 4 processes"
	drainBy12      = "drain by 12 processes"
	largePayloads  = "drain, payloads of 10 KB"
	handlersShort  = "drain, handlers of 1 ms in 1000 slots"
	handlersMiddle = "drain, handlers of 50 ms in 1000 slots"
	handlersLong   = "drain, handlers of 1 s in 1000 slots"
)

// workloads returns all workloads, in the order of the table.
func workloads() []workload {
	return []workload{
		{name: insertOne, needs: []string{roleInsert}, share: 2, shares: map[string]int{onPostgreSQL: 20}, lines: simply(insertBy(1))},
		{name: insertTogether, needs: []string{roleInsert}, share: 2, shares: map[string]int{onPostgreSQL: 10}, lines: simply(insertBy(64))},
		{name: bulkInsert, needs: []string{roleBulk}, share: 1, lines: simply(bulk)},
		{name: drainAlone, needs: []string{roleBulk, roleDrain}, share: 1, lines: simply(drainBy(1))},
		{name: drainBy4, needs: []string{roleBulk, roleDrain}, share: 1, lines: simply(drainBy(4))},
		{name: drainBy12, needs: []string{roleBulk, roleDrain}, share: 1, long: true, lines: simply(drainBy(12))},
		{name: largePayloads, needs: []string{roleBulk, roleDrain}, share: 10, brief: true, lines: simply(drainLarge)},
		{name: "drain beside a backlog", needs: []string{roleBulk, roleDrain, roleBacklog}, share: 1, long: true, alone: true, lines: []variant{
			{"empty table", drainBy(1)}, {"beside finished and scheduled rows", drainBesideBacklog},
		}},
		{name: handlersShort, needs: []string{roleBulk, roleDrain}, share: 2, brief: true, lines: simply(drainSlow(time.Millisecond))},
		{name: handlersMiddle, needs: []string{roleBulk, roleDrain}, share: 2, brief: true, lines: simply(drainSlow(50 * time.Millisecond))},
		{name: handlersLong, needs: []string{roleBulk, roleDrain}, share: 10, long: true, lines: simply(drainSlow(time.Second))},
		{name: "latency, same process", needs: []string{roleLatency}, share: 1, brief: true, lines: simply(latencySame)},
		{name: "latency, other process", needs: []string{rolePaced, roleWork}, share: 1, brief: true, lines: simply(latencyOther(rolePaced))},
		{name: "latency, plain INSERT by another process", needs: []string{rolePlain, roleWork}, share: 1, long: true, lines: simply(latencyOther(rolePlain))},
		{name: "latency at half load", needs: []string{roleBulk, roleDrain, rolePaced, roleWork}, share: 5, brief: true, lines: simply(latencyHalfLoad)},
		{name: "idle", needs: []string{roleIdle}, share: 1, brief: true, lines: simply(idle)},
		{name: "soak", needs: []string{roleSoak, roleLoad, rolePrune}, share: 1, long: true, once: true, lines: simply(soak)},
		{name: "drain, counts", needs: []string{roleBulk, roleDrain, roleUncounted}, share: 1, long: true, alone: true, lines: []variant{
			{"without counts", drainUncounted}, {"with counts", drainBy(1)},
		}},
		{name: "drain, 1,000 keys of 2", needs: []string{roleDrain, roleLimited}, share: 1, long: true, lines: simply(drainLimited(limitKeys, 200))},
		{name: "drain, limits", needs: []string{roleDrain, roleLimited}, share: 1, long: true, alone: true, lines: limitLines()},
		{name: "work beside full keys", needs: []string{roleWork, roleLimited, roleFull}, share: 1, long: true, alone: true, lines: besideFullKeys()},
		{name: "claims", engines: []string{onPostgreSQL}, needs: []string{roleClaims}, share: 1, long: true, alone: true, lines: besides(claims(roleClaims))},
		{name: "claims, ClaimJobs alone", engines: []string{onPostgreSQL}, needs: []string{roleClaimStatements}, share: 1, long: true, alone: true, lines: besides(claims(roleClaimStatements))},
		{name: "latency beside other rows", engines: []string{onPostgreSQL}, needs: []string{roleLatency, roleFinished}, share: 1, long: true, alone: true, lines: besides(latencySame)},
	}
}

// jobsOn returns the number of jobs of a run.
func (w workload) jobsOn(engine string, n int) int {
	share := w.share
	if other, ok := w.shares[engine]; ok {
		share = other
	}
	return max(1, n/share)
}
