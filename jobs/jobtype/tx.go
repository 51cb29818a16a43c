package jobtype

import "context"

// Tx is a caller's own transaction, made by an engine's Tx function (sqlite.Tx, postgres.Tx).
type Tx interface {
	// Handle returns the value by which the engine's Join recognises its own transactions.
	Handle() any

	// Savepoint runs the engine's statement of that name: savepoint, which sets one, rollback_to, which undoes later changes,
	// or release, which drops it.
	Savepoint(ctx context.Context, statement string) error
}
