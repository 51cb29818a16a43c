// Package conformance holds the tests that every engine must pass: one sub-test for each promise that package jobs
// makes. An engine's own tests call [Run].
package conformance

import (
	"context"
	"database/sql"
	"slices"
	"testing"

	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
)

// Store is an engine's store together with the functions that tests need beyond the public API.
type Store interface {
	engine.Store
	engine.StoreCarrier

	// Begin starts an application's transaction on the queue's database.
	Begin(ctx context.Context) (Tx, error)

	// BeginSQL starts one of database/sql.
	BeginSQL(ctx context.Context) (*sql.Tx, error)

	// LeaveLock leaves a worker's lock as after the death of its process: it exists, and is free.
	LeaveLock(key string) error

	// Plain runs statements in one transaction, as another program does, and returns the numbers of the first column of their rows.
	Plain(ctx context.Context, statements ...string) (numbers []int64, err error)

	// HoldInspections holds all connections that Inspect may use at once, as reads do that do not end, until release.
	HoldInspections(ctx context.Context) (release func(), err error)
}

// Tx is an application's transaction.
type Tx interface {
	jobs.Tx
	Commit() error
	Rollback() error
}

// Open opens a migrated database for one test: calls with the same t open one database again, as another process would.
// It closes the database when the test ends.
type Open = func(t *testing.T, observers ...*jobs.Observer) Store

// Run runs the suite.
func Run(t *testing.T, open Open) {
	for _, group := range []struct {
		name  string
		tests []test
	}{
		{"Enqueue", enqueueTests},
		{"Unique", uniqueTests},
		{"UniqueModes", uniqueModeTests},
		{"Items", itemTests},
		{"Kinds", kindTests},
		{"Settings", settingTests},
		{"Order", orderTests},
		{"ManyQueues", manyQueuesTests},
		{"Due", dueTests},
		{"Pauses", pauseTests},
		{"Expiry", expiryTests},
		{"Plain", plainTests},
		{"Application", applicationTests},
		{"IDs", idTests},
		{"Columns", columnTests},
		{"Outcome", outcomeTests},
		{"Attempts", attemptsTests},
		{"Retry", retryTests},
		{"Timeout", timeoutTests},
		{"Unable", unableTests},
		{"Wait", waitTests},
		{"Transaction", transactionTests},
		{"OwnTransaction", ownTransactionTests},
		{"Cancel", cancelTests},
		{"Manage", manageTests},
		{"Update", updateTests},
		{"Inspect", inspectTests},
		{"Counts", countsTests},
		{"Search", searchTests},
		{"Readers", readersTests},
		{"Why", whyTests},
		{"Runner", runnerTests},
		{"SetQueue", setQueueTests},
		{"Handover", handoverTests},
		{"Ahead", aheadTests},
		{"Stop", stopTests},
		{"Rescue", rescueTests},
		{"Fence", fenceTests},
		{"Fault", faultTests},
		{"Schema", schemaTests},
		{"Retention", retentionTests},
		{"RetentionRules", retentionRuleTests},
		{"KeepNothing", nothingTests},
		{"Middleware", middlewareTests},
		{"Observe", observeTests},
		{"Moved", movedTests},
		{"Audit", auditTests},
		{"Sensitive", sensitiveTests},
		{"SensitiveErrors", sensitiveErrorTests},
		{"Cipher", cipherTests},
		{"Forget", forgetTests},
		{"Schedules", scheduleTests},
		{"Sources", sourceTests},
		{"Limits", slices.Concat(limitTests, limitMendedTests)},
		{"Sequences", limitOrderTests},
		{"Backlogs", depthTests},
		{"WholeLimits", wholeLimitTests},
		{"DeclaredLimits", declaredLimitTests},
		{"LimitTokens", tokenTests},
		{"ScheduleChanges", scheduleChangeTests},
		{"Schedulers", schedulerTests},
		{"Declarations", declarationTests},
		{"Callbacks", callbackTests()},
	} {
		t.Run(group.name, func(t *testing.T) {
			t.Parallel()
			for _, test := range group.tests {
				t.Run(test.name, func(t *testing.T) {
					t.Parallel()
					test.run(newFixture(t, open))
				})
			}
		})
	}
}

type test struct {
	name string
	run  func(*fixture)
}
