package postgres

import (
	"context"

	"github.com/sqluice/sqluice/db"
)

// HoldInspections holds all connections that Inspect may use at once, as long reads do, until release is called.
func (store *Store) HoldInspections(ctx context.Context) (release func(), err error) {
	s := store.backend
	end := make(chan struct{})
	begun := make(chan error, 2*cap(s.inspecting))
	for range cap(s.inspecting) {
		go func() {
			begun <- s.Inspect(ctx, func(context.Context, db.Querier) error {
				begun <- nil
				<-end
				return nil
			})
		}()
	}
	for range cap(s.inspecting) {
		if err := <-begun; err != nil {
			close(end)
			return nil, err
		}
	}
	return func() { close(end) }, nil
}

// Again returns another store, with the options of the URL and opts, on the pool of a store that [Open] made; that store closes after it.
func (store *Store) Again(url string, opts ...Option) (*Store, error) {
	_, given, err := splitURL(url)
	if err != nil {
		return nil, err
	}
	b, err := newBackend(store.backend.conns.pool, append(given, opts...)...)
	if err == nil {
		b.conns.sessions = store.backend.conns.sessions
	}
	return newStore(b, err)
}
