package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

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

// sequences moves the sequences of ids past the ids that rows have.
type sequences struct{ conns *connections }

// moveSequences moves the sequences of ids past the ids that rows have, where the role may, and keeps those already past them.
func (s sequences) moveSequences(ctx context.Context) error {
	var args []any
	for _, table := range numbered() {
		args = append(args, s.conns.names.table(table))
	}
	var moved string
	if err := s.conns.query(ctx, &moved, "move_sequences", args...); err != nil {
		return fmt.Errorf("read the sequences of ids: %w", err)
	}
	if moved != "" {
		s.conns.options.logger.Warn("the database gave new rows ids that older rows have, as after logical replication: its sequences were moved past these", "tables", strings.Fields(moved))
	}
	return nil
}

// mendSequences does the same after a failed write. It reports whether to run that again: another process may have moved them too.
func (s sequences) mendSequences(ctx context.Context) bool {
	err := s.moveSequences(ctx)
	if err != nil {
		s.conns.options.logger.Debug("cannot mend the sequences of ids", "error", err)
	}
	return err == nil
}
