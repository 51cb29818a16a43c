package sqlite

import (
	"context"
	"database/sql"
)

// HoldInspections holds all connections that Inspect may use at once, as long reads do, until release is called.
func (store *Store) HoldInspections(ctx context.Context) (release func(), err error) {
	s := store.backend
	var held []*sql.Conn
	release = func() {
		for _, conn := range held {
			_ = conn.Close() // returns it to the pool
		}
	}
	for range s.pools.inspectDB.Stats().MaxOpenConnections {
		conn, err := s.pools.inspectDB.Conn(ctx)
		if err != nil {
			release()
			return nil, err
		}
		held = append(held, conn)
	}
	return release, nil
}
