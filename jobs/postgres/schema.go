package postgres

import (
	"context"
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
	place  atomic.Pointer[placement] // nil while it is not known
}

// placement is the schema of the queue.
type placement struct {
	schema    string // empty while unknown
	current   string // the schema in which the pool's connections create tables
	qualified sync.Map
}

func (n *namespace) at() *placement {
	if p := n.place.Load(); p != nil {
		return p
	}
	p := &placement{schema: n.schema}
	if n.schema != "" {
		n.place.CompareAndSwap(nil, p)
	}
	return p
}

// settle records the queue's schema.
func (n *namespace) settle(schema, current string) {
	if p := n.at(); p.schema != schema || p.current != current {
		n.place.Store(&placement{schema: schema, current: current})
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

// location is a database's answer about where the queue is.
type location struct {
	jobs     []string // the schemas with a table of jobs: those of the search_path, in its order, or the one named
	versions []string // those with goose's table for the queue
	earlier  []string // those with goose's table under the name of earlier builds of sqluice
	current  string   // the schema in which new tables are created
	usable   bool     // the role may use it
	path     string   // the search_path
	exists   bool     // a schema of the search_path exists
	role     string
	server   int64 // server time
	identity identity
}

func (l *location) values() []any {
	return append([]any{&l.jobs, &l.versions, &l.earlier, &l.current, &l.usable, &l.path, &l.exists, &l.role, &l.server}, l.identity.values()...)
}

// schema returns the schema that has the queue, or in which a migration creates it. The queue's tables in two schemas may be two queues:
// one program would work on one of them, and another program on the other.
func (l location) schema(named string) (string, error) {
	switch {
	case !l.usable && named == "" && !l.exists:
		return "", fmt.Errorf("the search_path of the role %s, %q, names no schema that exists: name the queue's with schema=NAME in the URL or WithSchema, or set the search_path",
			l.role, l.path)
	case !l.usable && named == "":
		return "", fmt.Errorf("%w: the role %s may not use any schema of its search_path", errPrivilege, l.role)
	case !l.usable:
		return "", fmt.Errorf("%w: the role %s may not use the schema %s", errPrivilege, l.role, named)
	case named != "":
		return named, nil
	case len(l.jobs) > 1:
		return "", fmt.Errorf("the search_path leads to %d tables %s, in the schemas %s: name the queue's with schema=NAME in the URL or WithSchema",
			len(l.jobs), jobsTable, strings.Join(l.jobs, ", "))
	case len(l.jobs) == 1:
		return l.jobs[0], nil
	case len(l.versions) > 0:
		return l.versions[0], nil
	}
	return l.current, nil
}

// locate asks for the queue's schema and directs all later statements there, also those in the application's transactions, whose
// search_path may differ.
func (s *connections) locate(ctx context.Context) (location, error) {
	var l location
	sent := s.clock.instant()
	if err := s.queryRow(ctx, "locate", once(s.names.schema), l.values()...); err != nil {
		return l, err
	}
	return l, s.settle(l, sent)
}

// settle records the result of locate.
func (s *connections) settle(l location, sent instant) error {
	s.clock.sample(l.server, sent, s.clock.instant())
	schema, err := l.schema(s.names.schema)
	if err != nil {
		return err
	}
	s.names.settle(schema, l.current)
	s.self.Store(&l.identity)
	return nil
}

// locateApart calls locate on its own connection: transactions, the caller's among them, may hold all of the pool's.
func (s *connections) locateApart(ctx context.Context) error {
	return inTime(ctx, func(ctx context.Context) error {
		conn, err := sessions{s}.connectAsPool(ctx)
		if err != nil {
			return translate(err)
		}
		var l location
		sent := s.clock.instant()
		err = conn.QueryRow(ctx, control("locate"), once(s.names.schema)...).Scan(l.values()...)
		if err == nil {
			err = s.settle(l, sent)
		}
		return errors.Join(translate(err), conn.Close(ctx))
	})
}

// located calls locate unless the queue's schema is known.
func (s *connections) located(ctx context.Context) error {
	if s.names.at().schema != "" {
		return nil
	}
	_, err := s.locate(ctx)
	return err
}

// tables returns the names of the queue's tables and goose's. A test derives them from the migrations.
func tables() []string {
	return []string{
		"sqluice_declarations", "sqluice_job_audit", "sqluice_job_changes", "sqluice_job_counts", "sqluice_job_errors",
		"sqluice_job_history", "sqluice_jobs", "sqluice_migrations", "sqluice_moves", "sqluice_pauses", "sqluice_refusals", "sqluice_retentions", "sqluice_schedule_ticks",
		"sqluice_schedules", "sqluice_schema_versions", "sqluice_sensitive_fields", "sqluice_unique_keys", "sqluice_workers",
	}
}

// settingsView is the view that statements read.
const settingsView = "sqluice_kind_settings"

// tableReference matches the queue's tables and its view where a statement reads or writes them: nowhere else does one of their names
// follow one of these words. It matches calls of the queue's function too. A test prepares every statement with no schema to fall back on.
var tableReference = regexp.MustCompile(`\b(FROM |JOIN |INTO |UPDATE |TABLE )(` + strings.Join(append(tables(), settingsView), "|") + `)\b|([ (])(sqluice_ids\()`)
