package engine

import (
	"context"
	"errors"
)

// insideTx is the context key of the store whose transaction a context belongs to.
type insideTx struct{}

// errOuterClient is returned inside Client.Tx by the client that began the transaction.
var errOuterClient = errors.New("this client is outside the transaction of Client.Tx: use the client that the function was given")

// Inside returns a context that belongs to a transaction of the scope's store.
func (s *Scope) Inside(ctx context.Context) context.Context {
	return context.WithValue(ctx, insideTx{}, s.Identity)
}

// CheckOutside returns an error when ctx belongs to a transaction of the scope's store: an operation outside the transaction
// would wait for the end of that transaction.
func (s *Scope) CheckOutside(ctx context.Context) error {
	if store := ctx.Value(insideTx{}); store != nil && store == s.Identity {
		return errOuterClient
	}
	return nil
}
