package main

import (
	"context"
	"database/sql"
	"net/url"
)

const (
	settingsDefault = "default"
	settingsBest    = "best"
)

// sqliteDSN names the database for every peer: on the driver that sqluice uses, in WAL mode, waiting for locks, and
// with the synchronous mode of the run's durability, as in sqluice. SQLite's defaults would be slower.
func sqliteDSN(t task) string {
	synchronous := "synchronous(normal)"
	if t.Durability == durabilityFull {
		synchronous = "synchronous(full)"
	}
	return "file:" + t.Path + "?" + url.Values{
		"_pragma": {"busy_timeout(5000)", "journal_mode(wal)", synchronous},
	}.Encode()
}

// asks runs a query with a boolean result.
func asks(ctx context.Context, pool *sql.DB, query string) (yes bool, err error) {
	err = pool.QueryRowContext(ctx, query).Scan(&yes)
	return yes, err
}

// inSettings returns a peer on SQLite or Redis with its default and its best settings, and with full durability in the
// best settings for the workloads that measure it.
func inSettings(c contender, defaultSlots, bestSlots int) []contender {
	normal, best, full := c, c, c
	normal.settings, normal.durability, normal.slots = settingsDefault, durabilityNormal, defaultSlots
	best.settings, best.durability, best.slots = settingsBest, durabilityNormal, bestSlots
	full.settings, full.durability, full.slots, full.only = settingsBest, durabilityFull, bestSlots, []string{insertOne, drainAlone}
	return []contender{normal, best, full}
}
