package postgres

import (
	"regexp"
	"strings"
)

// tables are the queue's tables and goose's. A test derives them from the migrations.
func tables() []string {
	return []string{
		"sqluice_goose_version", "sqluice_job_audit", "sqluice_job_changes", "sqluice_job_counts", "sqluice_job_errors",
		"sqluice_job_history", "sqluice_jobs", "sqluice_moves", "sqluice_queues", "sqluice_sensitive_fields", "sqluice_workers",
	}
}

// tableReference finds the queue's tables where a statement reads or writes them: nowhere else does one of their names
// stand after one of these words. A test prepares every statement with no schema to fall back on.
var tableReference = regexp.MustCompile(`\b(FROM|JOIN|INTO|UPDATE|TABLE) (` + strings.Join(tables(), "|") + `)\b`)
