package main

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
)

// riverOnPostgreSQL returns River's contenders on PostgreSQL.
func riverOnPostgreSQL() []contender {
	normal := contender{
		name: "River", version: moduleVersion("github.com/riverqueue/river/riverdriver/riverpgxv5"), engine: onPostgreSQL,
		settings: settingsDefault, durability: durabilityFull, slots: riverDefaultSlots,
		roles: goPeer(openRiverPostgres).roles(),
	}
	best := normal
	normal.timed = riverTimed
	best.settings, best.slots = settingsBest, riverBestSlots
	return []contender{normal, best}
}

func openRiverPostgres(ctx context.Context, t task, f *mishaps) (goQueue, error) {
	// With the pool's default number of connections: River's documentation names no other, and inserts that notify wait
	// for each other's commits in any case.
	pool, err := pgxpool.New(ctx, t.Path)
	if err != nil {
		return nil, err
	}
	return openRiver(ctx, riverQueue[pgx.Tx]{
		driver: riverpgxv5.New(pool), config: riverConfig(t, f), release: func() error { pool.Close(); return nil },
		hasJobs: func(ctx context.Context) (left bool, err error) {
			err = pool.QueryRow(ctx, riverUnfinished).Scan(&left)
			return left, err
		},
	})
}
