package sql_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sqluice/sqluice/internal/gates"
)

func statements(t *testing.T, engine string) []gates.Statement {
	t.Helper()
	root, err := gates.Root()
	if err != nil {
		t.Fatal(err)
	}
	list, err := gates.Statements(filepath.Join(root, "db", engine))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// What sqlc made of the queries is what the real engine takes on the real schema.
func TestEveryQueryCanBePrepared(t *testing.T) {
	onEachEngine(t, func(t *testing.T, e engine) {
		pool, _ := e.at(t, 0)
		for _, s := range statements(t, filepath.Base(strings.TrimSuffix(e.golden, ".sql"))) {
			prepared, err := pool.PrepareContext(t.Context(), s.SQL)
			if err != nil {
				t.Errorf("%s: %v", s.Name, err)
				continue
			}
			if err := prepared.Close(); err != nil {
				t.Errorf("%s: %v", s.Name, err)
			}
		}
	})
}

// hot are the queries that a worker or an enqueue makes again and again while the table grows.
var hot = []string{
	"AddJobError", "CancelRunningJob", "CancelStuckJobs", "CancelWaitingJob", "ClaimJobs", "CompleteJob", "CompleteJobs",
	"CompleteJobsWithResults", "CountCrashes", "CountRunningJobs", "CountStuckJobs", "DeleteFinishedJobs", "DeleteJob",
	"EnqueueJob", "EnqueueJobs", "ExtendLeases", "FailJob", "FailStuckJobs", "GetJob", "GetJobFence",
	"GetJobIDByRequestID", "GetLiveJobIDByUniqueKey", "GetNextRunAfter", "HasClaimableJobs", "HeartbeatWorker",
	"ListFailedJobs", "ListHeldJobs", "ListJobErrors", "PromoteDueJobs", "RecordStuckJobs", "ReleaseJob",
	"RequestJobCancel", "RequeueJob", "ResetStuckJobs", "RetryJob", "SetJobProgress", "SnoozeJob",
}

// Those read all running jobs: few, whatever else the table holds, and in an index of their own.
var readRunning = []string{
	"CancelStuckJobs", "CountCrashes", "CountRunningJobs", "CountStuckJobs", "FailStuckJobs", "RecordStuckJobs", "ResetStuckJobs",
}

var (
	sqliteScan = regexp.MustCompile(`^SCAN (\w+)(?: USING (?:COVERING )?INDEX (\w+))?`)
	jobsAlias  = regexp.MustCompile(`\bjobs(?: AS (\w+))?`)
)

func TestPlansAreGoldenOnSQLite(t *testing.T) {
	onEachEngine(t, func(t *testing.T, e engine) {
		if e.golden != "schema/sqlite.sql" {
			t.Skip("PostgreSQL chooses its plans by what the tables hold: see TestHotQueriesUseIndexesOnPostgreSQL")
		}
		pool, _ := e.at(t, 0)
		var golden strings.Builder
		golden.WriteString("Written by `go test ./sql -update`: how SQLite runs each query. DO NOT EDIT.\n")
		for _, s := range statements(t, "sqlite") {
			fmt.Fprintf(&golden, "\n%s\n", s.Name)
			for _, step := range sqlitePlan(t, pool, s) {
				fmt.Fprintf(&golden, "    %s\n", step)
			}
		}
		compareGolden(t, "schema/plans.sqlite.txt", golden.String())
	})
}
