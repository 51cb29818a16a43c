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

// sqliteDSN names the database as every peer gets it: on the driver that sqluice uses, in WAL mode, waiting for locks,
// and with the synchronous mode of the run's durability, as sqluice has them. SQLite's own defaults would be slower.
func sqliteDSN(t task) string {
	synchronous := "synchronous(normal)"
	if t.Durability == durabilityFull {
		synchronous = "synchronous(full)"
	}
	return "file:" + t.Path + "?" + url.Values{
		"_pragma": {"busy_timeout(5000)", "journal_mode(wal)", synchronous},
	}.Encode()
}

// asks runs a query whose answer is yes or no.
func asks(ctx context.Context, pool *sql.DB, query string) (yes bool, err error) {
	err = pool.QueryRowContext(ctx, query).Scan(&yes)
	return yes, err
}

// inSettings is a peer on SQLite or Redis in its default and in its best settings, and what the workloads that are
// measured with full durability are in the best.
func inSettings(c contender, defaultSlots, bestSlots int) []contender {
	normal, best, full := c, c, c
	normal.settings, normal.durability, normal.slots = settingsDefault, durabilityNormal, defaultSlots
	best.settings, best.durability, best.slots = settingsBest, durabilityNormal, bestSlots
	full.settings, full.durability, full.slots, full.only = settingsBest, durabilityFull, bestSlots, []string{insertOne, drainAlone}
	return []contender{normal, best, full}
}
