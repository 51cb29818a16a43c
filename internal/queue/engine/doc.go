// Package engine leads from a client or a runner to its database. The statements of one client run in a Scope: the store's
// connections, or the caller's transaction.
//
// The parts of the queue that work for a client outside package jobs (jobs/inspect, lifecycle, prune) take a Scope. They get it
// from the client without a method that users of the module could call:
//
//	package jobs:     type sealed = engine.Sealed
//	                  type Client struct { sealed; ... }   // promotes engine's unexported method
//	package inspect:  scope := engine.ScopeOf(client)      // compiles for types that embed Sealed
//
// Sealed has no exported field or method, so the documentation of Client shows nothing of it. Programs outside this module
// cannot import this package.
//
// Store is the port that an engine fills. It gets jobs as data (Insert, Batch) and the cycles of runners as functions (Exchange). Its parts
// (Claims, Transactions, WorkerLocks, Migrations, Upkeep) are small interfaces of their own.
//
// The package knows no engine by name, and neither handlers nor runners.
package engine
