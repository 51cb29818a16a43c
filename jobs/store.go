package jobs

import "github.com/sqluice/sqluice/internal/queue/engine"

// Store is a database that holds the queue. Programs open one (package jobs/sqlite or jobs/postgres), hand it to [New], and close it
// when all runners have returned. Only the engines of this module implement it.
type Store interface {
	sealedStore

	// Close waits for writes under way and closes the connections.
	Close() error
}

// sealedStore is what the module takes the engine's port out of, with [engine.StoreOf].
type sealedStore = engine.StoreCarrier
