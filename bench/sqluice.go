package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/postgres"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

// sqluice is the name of this project.
const sqluice = "sqluice"

var noop = jobs.Kind[args]{Name: "noop"}

// ours returns the limits, and sqluice, which is compared with them.
func ours() []contender {
	roles := map[string]role{
		roleBulk: bulkRole, roleInsert: insertRole, rolePaced: pacedRole, roleDrain: drainRole, roleWork: workRole,
		roleLatency: latencyRole, roleIdle: idleRole, roleBacklog: backlogRole, roleFinished: finishedRole,
		roleSoak: soakRole, roleLoad: loadRole, rolePrune: pruneRole, roleClaims: claimsRole(false), roleClaimStatements: claimsRole(true),
		roleUncounted: uncountedRole, roleLimited: limitedRole, roleFull: fullRole,
	}
	onSQLiteToo := map[string]role{rolePlain: plainRole}
	for name, r := range roles {
		onSQLiteToo[name] = r
	}
	version := moduleVersion("github.com/sqluice/sqluice")
	full := []string{insertOne, drainAlone}
	return []contender{
		rawSQLite(durabilityNormal, nil),
		{name: sqluice, version: version, engine: onSQLite, settings: settingsDefault, durability: durabilityNormal, roles: onSQLiteToo},
		rawSQLite(durabilityFull, full),
		{name: sqluice, version: version, engine: onSQLite, settings: settingsDefault, durability: durabilityFull, roles: onSQLiteToo, only: full},
		rawPostgres(),
		{name: sqluice, version: version, engine: onPostgreSQL, settings: settingsDefault, durability: durabilityFull, roles: roles},
	}
}

// open opens the queue of a task and migrates it.
func open(ctx context.Context, t task) (jobs.Store, *jobs.Client, error) {
	store, err := openStore(ctx, t)
	if err != nil {
		return nil, nil, err
	}
	client := jobs.New(store)
	if _, err := client.Migrate(ctx); err != nil {
		return nil, nil, errors.Join(err, store.Close())
	}
	return store, client, nil
}

func openStore(ctx context.Context, t task) (jobs.Store, error) {
	if isPostgres(t.Path) {
		return postgres.Open(ctx, t.Path)
	}
	switch t.Durability {
	case durabilityNormal:
		return sqlite.Open(ctx, t.Path)
	case durabilityFull:
		return sqlite.Open(ctx, t.Path, sqlite.WithDurability(sqlite.Full))
	}
	return nil, fmt.Errorf("unknown durability %q", t.Durability)
}

func isPostgres(path string) bool {
	return strings.HasPrefix(path, "postgres://") || strings.HasPrefix(path, "postgresql://")
}

// complaints counts the errors that a runner logs.
type complaints struct {
	slog.Handler
	count *atomic.Int64
}

func newComplaints() complaints {
	return complaints{Handler: slog.DiscardHandler, count: new(atomic.Int64)}
}

func (complaints) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelError }

func (c complaints) Handle(context.Context, slog.Record) error { c.count.Add(1); return nil }

func (c complaints) WithAttrs([]slog.Attr) slog.Handler { return c }

func (c complaints) WithGroup(string) slog.Handler { return c }
