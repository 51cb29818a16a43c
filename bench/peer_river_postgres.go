//go:build riverpostgres

package main

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
)

// rivers returns the contenders that the program of peer_river_program.go has.
func rivers() []contender {
	list := riverOnPostgreSQL(moduleVersion(riverPostgresModule))
	for i := range list {
		list[i].roles = goPeer(openRiverPostgres).roles()
	}
	return list
}

func openRiverPostgres(ctx context.Context, t task, f *mishaps) (goQueue, error) {
	// With the pool's default number of connections: River's documentation names no other, and inserts that notify wait
	// for each other's commits in any case.
	pool, err := pgxpool.New(ctx, t.Path)
	if err != nil {
		return nil, err
	}
	return openRiver(ctx, riverQueue[pgx.Tx]{
		driver: riverpgxv5.New(pool), config: riverConfig(t, f), end: func() error { pool.Close(); return nil },
		left: func(ctx context.Context) (left bool, err error) {
			err = pool.QueryRow(ctx, riverUnfinished).Scan(&left)
			return left, err
		},
	})
}
