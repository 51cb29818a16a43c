package main

import (
	"context"
	"database/sql"

	"github.com/riverqueue/river/riverdriver/riversqlite"
)

// riverOnSQLite returns River's contenders on SQLite.
func riverOnSQLite() []contender {
	river := contender{
		name: "River", version: moduleVersion("github.com/riverqueue/river/riverdriver/riversqlite"), engine: onSQLite,
		roles: goPeer(openRiverSQLite).roles(),
	}
	list := inSettings(river, riverDefaultSlots, riverBestSlots)
	list[0].timed = riverTimed
	return list
}

func openRiverSQLite(ctx context.Context, t task, f *mishaps) (goQueue, error) {
	pool, err := sql.Open("sqlite", sqliteDSN(t))
	if err != nil {
		return nil, err
	}
	// "A good workaround to avoid errors is to set the maximum pool size to one connection": package riversqlite.
	pool.SetMaxOpenConns(1)
	return openRiver(ctx, riverQueue[*sql.Tx]{
		driver: riversqlite.New(pool), config: riverConfig(t, f), release: pool.Close,
		hasJobs: func(ctx context.Context) (bool, error) { return asks(ctx, pool, riverUnfinished) },
	})
}
