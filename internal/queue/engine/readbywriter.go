package engine

import "context"

// ReadByWriter runs fn on the connection by which a store writes, outside of a transaction, so that a program with few reads needs no
// other connection. It returns false when the store has no such connection or is using it. All writes wait for the end of fn, which must
// not use the store.
func ReadByWriter(ctx context.Context, s Store, fn Func) (done bool, err error) {
	w, ok := s.(interface {
		ReadByWriter(ctx context.Context, fn Func) (bool, error)
	})
	if !ok {
		return false, nil
	}
	return w.ReadByWriter(ctx, fn)
}
