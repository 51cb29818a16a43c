package postgres

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
)

// longestName is the longest name of a schema or channel in PostgreSQL, in bytes (NAMEDATALEN - 1).
const longestName = 63

// checkSchemaName returns the defect of a schema's name, as a phrase that follows "must".
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

// namespace puts the schema's name before the names of the queue's tables, so that statements find them under any
// search_path: in the application's own transactions and behind a pooler it is not the queue's.
type namespace struct {
	schema string                    // named by the application; empty: where locate finds the queue
	known  atomic.Pointer[placement] // nil while it is not known
}

// placement is the schema of the queue.
type placement struct {
	schema    string // empty while unknown
	current   string // the schema in which the pool's connections create tables
	qualified sync.Map
}

func (n *namespace) at() *placement {
	if p := n.known.Load(); p != nil {
		return p
	}
	p := &placement{schema: n.schema}
	if n.schema != "" {
		n.known.CompareAndSwap(nil, p)
	}
	return p
}

// settle records the queue's schema.
func (n *namespace) settle(schema, current string) {
	if p := n.at(); p.schema != schema || p.current != current {
		n.known.Store(&placement{schema: schema, current: current})
	}
}

// qualify returns the statement for this schema.
func (n *namespace) qualify(statement string) string {
	p := n.at()
	if p.schema == "" {
		return statement
	}
	if known, ok := p.qualified.Load(statement); ok {
		return known.(string)
	}
	prefix := strings.ReplaceAll(pgx.Identifier{p.schema}.Sanitize(), "$", "$$")
	text := tableReference.ReplaceAllString(statement, "$1$3"+prefix+".$2$4")
	p.qualified.Store(statement, text)
	return text
}

// table returns a table's name as text, quoted where needed, for functions that take one.
func (n *namespace) table(name string) string {
	if p := n.at(); p.schema != "" {
		return pgx.Identifier{p.schema, name}.Sanitize()
	}
	return name
}

// channel returns the name of the notification channel of this queue.
func (n *namespace) channel() string {
	schema := n.at().schema
	if schema == "" || schema == "public" {
		return "sqluice"
	}
	name := "sqluice_" + schema
	return strings.ToValidUTF8(name[:min(len(name), longestName)], "")
}

const jobsTable = "sqluice_jobs"

// tables returns the names of the queue's tables and goose's. A test derives them from the migrations.
func tables() []string {
	return []string{
		"sqluice_declarations", "sqluice_job_audit", "sqluice_job_changes", "sqluice_job_counts", "sqluice_job_errors",
		"sqluice_job_history", "sqluice_jobs", "sqluice_lanes", "sqluice_limit_keys", "sqluice_limits", "sqluice_migrations", "sqluice_moves", "sqluice_pauses", "sqluice_refusals", "sqluice_retentions", "sqluice_schedule_ticks",
		"sqluice_schedules", "sqluice_schema_versions", "sqluice_sensitive_fields", "sqluice_unique_keys", "sqluice_workers",
	}
}

// settingsView is the view of the settings of kinds.
const settingsView = "sqluice_kind_settings"

// limitsView is the view of declared limits.
const limitsView = "sqluice_declared_limits"

// tableReference matches the queue's tables and its view where a statement reads or writes them: nowhere else does one of their names
// follow one of these words. It matches calls of the queue's function too. A test prepares every statement with no schema to fall back on.
var tableReference = regexp.MustCompile(`\b(FROM |JOIN |INTO |UPDATE |TABLE )(` + strings.Join(append(tables(), settingsView, limitsView), "|") + `)\b|([ (])(sqluice_ids\()`)

// identity identifies the database of a connection. It differs after a restart of the server, and between two servers with the same
// files, such as one that was restored from the other's backup.
type identity struct {
	start    string // start time of the server; empty for a standby, which takes no writes
	database string
	address  string // for error texts
}

func (i *identity) values() []any { return []any{&i.start, &i.database, &i.address} }

func (i identity) same(other identity) bool {
	return i.start == "" || other.start == "" || i.start == other.start && i.database == other.database
}

func (i identity) String() string { return fmt.Sprintf("the database %s at %s", i.database, i.address) }
