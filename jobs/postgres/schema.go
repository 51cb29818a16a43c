package postgres

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
)

// longestName is PostgreSQL's limit for the names of schemas and channels, in bytes (NAMEDATALEN - 1).
const longestName = 63

// checkSchemaName returns what is wrong with the name of a schema, as a phrase that follows "must".
func checkSchemaName(name string) error {
	switch {
	case name == "" || len(name) > longestName:
		return fmt.Errorf("have from 1 to %d bytes", longestName)
	case !utf8.ValidString(name) || strings.ContainsRune(name, 0):
		return errors.New("be UTF-8 without NUL")
	case strings.HasPrefix(name, "pg_") || name == "information_schema":
		return errors.New("not be one of PostgreSQL's own")
	case name == "$user":
		return errors.New("not be $user, which in a search_path stands for the role's name") // also when it is quoted
	}
	return nil
}

// namespace puts the schema's name before the names of the queue's tables, so that statements find them whatever the
// connection's search_path is: in the application's own transactions and behind a pooler it is not the queue's.
type namespace struct {
	schema    string // empty: as the search_path has it
	qualified sync.Map
}

// qualify returns the statement for this schema.
func (n *namespace) qualify(statement string) string {
	if n.schema == "" {
		return statement
	}
	if known, ok := n.qualified.Load(statement); ok {
		return known.(string)
	}
	prefix := strings.ReplaceAll(pgx.Identifier{n.schema}.Sanitize(), "$", "$$")
	text := tableReference.ReplaceAllString(statement, "$1 "+prefix+".$2")
	n.qualified.Store(statement, text)
	return text
}

// table is a table's name as text, quoted where that is needed, for functions that take one.
func (n *namespace) table(name string) string {
	if n.schema == "" {
		return name
	}
	return pgx.Identifier{n.schema, name}.Sanitize()
}

// channel is what notifications for this queue are sent on.
func (n *namespace) channel() string {
	if n.schema == "" {
		return "sqluice"
	}
	name := "sqluice_" + n.schema
	return strings.ToValidUTF8(name[:min(len(name), longestName)], "")
}

// tables are the queue's tables and goose's. A test derives them from the migrations.
func tables() []string {
	return []string{
		"sqluice_goose_version", "sqluice_job_audit", "sqluice_job_changes", "sqluice_job_counts", "sqluice_job_errors",
		"sqluice_job_history", "sqluice_jobs", "sqluice_moves", "sqluice_queues", "sqluice_refusals", "sqluice_sensitive_fields", "sqluice_workers",
	}
}

// tableReference finds the queue's tables where a statement reads or writes them: nowhere else does one of their names
// stand after one of these words. A test prepares every statement with no schema to fall back on.
var tableReference = regexp.MustCompile(`\b(FROM|JOIN|INTO|UPDATE|TABLE) (` + strings.Join(tables(), "|") + `)\b`)
