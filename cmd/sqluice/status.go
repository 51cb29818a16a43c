package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
)

// schemaStatus is the answer of the status command.
type schemaStatus struct {
	Database string  `json:"database"`
	Engine   string  `json:"engine"`
	Schema   int64   `json:"schema"`
	Wanted   int64   `json:"wanted"`
	RunsFrom int64   `json:"runs_from,omitempty"` // programs of this schema version and newer run on the database
	Own      []int64 `json:"own,omitempty"`       // the owner's versions that the database has
	Pending  []int64 `json:"pending,omitempty"`   // the versions that the program knows and the database lacks
	State    string  `json:"state"`               // up to date, pending, compatible, newer or unversioned
	WAL      *int64  `json:"wal_bytes,omitempty"` // the size of a SQLite database's WAL
	Closed   string  `json:"closed,omitempty"`    // the error if a move closed the queue
}

func (a *app) statusCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the database's schema version and whether migrations are pending",
		Long: "status shows the database, its engine with the version, the version of the queue's schema, and whether\n" +
			"migrations are pending. A password in the database's URL is left out.",
		GroupID: groupDatabase,
		Args:    noArgs(),
		RunE:    a.onClient(func(ctx context.Context, c *jobs.Client, _ []string) error { return a.status(ctx, c, asJSON) }),
	}
	jsonFlag(cmd.Flags(), &asJSON)
	return cmd
}

func (a *app) status(ctx context.Context, c *jobs.Client, asJSON bool) error {
	d, err := a.database()
	if err != nil {
		return err
	}
	s := schemaStatus{Database: d.String()}
	if s.Engine, err = engine.StoreOf(c.Store()).Upkeep().EngineVersion(ctx); err != nil {
		return fmt.Errorf("read the engine's version: %w", err)
	}
	found, err := engine.StoreOf(c.Store()).Migrations().Schema(ctx)
	if err != nil {
		return fmt.Errorf("read the schema's version: %w", err)
	}
	s.Schema, s.Wanted, s.RunsFrom, s.Own, s.Pending = found.Have, found.Want, found.RunsFrom, found.Own, found.Pending
	if sized, ok := c.Store().(interface{ WALSize() (int64, error) }); ok {
		size, err := sized.WALSize()
		if err != nil {
			return fmt.Errorf("read the size of the WAL: %w", err)
		}
		s.WAL = &size
	}
	if found.Check() == nil {
		if err := c.CheckOpen(ctx); errors.Is(err, jobs.ErrMoved) {
			s.Closed = err.Error()
		} else if err != nil {
			return err
		}
	}
	var advice string
	s.State, advice = stateOf(found)
	if asJSON {
		return a.printJSON(s)
	}
	t := newTable(a.out)
	t.row("database", s.Database)
	t.row("engine", s.Engine)
	t.row("schema", fmt.Sprintf("version %d of %d", s.Schema, s.Wanted))
	if len(s.Own) > 0 {
		t.row("own versions", joinNumbers(s.Own))
	}
	t.row("migrations", s.State+advice)
	if s.WAL != nil {
		t.row("WAL", walSize(*s.WAL))
	}
	if s.Closed != "" {
		t.row("closed", s.Closed)
	}
	return t.close()
}

// stateOf returns the state of a schema in a word, and advice for the user.
func stateOf(found engine.Schema) (state, advice string) {
	runs := found.Check() == nil
	switch {
	case runs && found.Newer():
		return "compatible", fmt.Sprintf(": newer than this program, and runs programs from schema version %d on", found.RunsFrom)
	case runs:
		return "up to date", ""
	case len(found.Pending) == 0:
		return "newer", " than this program: update it, or run `sqluice down` with the newer one"
	case found.Unversioned:
		return "unversioned", ": the tables have no versions, as after a dump of the schema alone was loaded; `sqluice up` adopts them when they equal a version of the schema"
	}
	advice = fmt.Sprintf(": migrations to run: %d, with `sqluice up`", len(found.Pending))
	if found.Have > 0 {
		advice = fmt.Sprintf(": migrations to run: %d (%s), with `sqluice up`", len(found.Pending), joinNumbers(found.Pending))
	}
	if found.Refuses != 0 {
		advice += "; " + refusedAfter(found)
	}
	return "pending", advice
}

// joinNumbers returns versions as a list for people.
func joinNumbers(versions []int64) string {
	texts := make([]string, len(versions))
	for i, v := range versions {
		texts[i] = strconv.FormatInt(v, 10)
	}
	return strings.Join(texts, ", ")
}

// walUsual is the size to which the engine truncates a WAL.
const walUsual = 64 << 20

// walSize returns the size of the WAL as text, with a hint if it is large.
func walSize(bytes int64) string {
	text := fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20))
	if bytes > walUsual {
		text += ": a long read transaction prevents its checkpoint, or a large write has just ended"
	}
	return text
}
