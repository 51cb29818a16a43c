package engine

import "github.com/sqluice/sqluice/internal/queue/waits"

// Sealed holds a Scope that only this module can take out. Types embed it.
type Sealed struct{ scope *Scope }

// Seal returns a Sealed with the scope.
func Seal(s Scope) Sealed { return Sealed{&s} }

func (s Sealed) sealedScope() *Scope { return s.scope }

// ScopeOf returns the scope of a type that embeds Sealed, such as *jobs.Client. The caller must not change it.
func ScopeOf(carrier interface{ sealedScope() *Scope }) *Scope { return carrier.sealedScope() }

// SealedStore holds a Store that only this module can take out. Engines embed it in the stores that they give to programs.
type SealedStore struct {
	store  Store
	shared *Shared
}

// SealStore returns a SealedStore with the store.
func SealStore(store Store) SealedStore { return SealedStore{store, &Shared{}} }

// Close waits for writes under way and closes the connections.
func (s SealedStore) Close() error { return s.store.Close() }

func (s SealedStore) sealedStore() SealedStore { return s }

// StoreCarrier is a type that embeds SealedStore.
type StoreCarrier interface{ sealedStore() SealedStore }

// StoreOf returns the store of a type that embeds SealedStore, such as *sqlite.Store.
func StoreOf(carrier StoreCarrier) Store { return carrier.sealedStore().store }

// SharedOf returns the state that all clients of the store share.
func SharedOf(carrier StoreCarrier) *Shared { return carrier.sealedStore().shared }

// Shared is the state that all clients of one store share, so that its bounds hold for any number of clients. The zero value is
// ready for use.
type Shared struct {
	Searches     Exclusive
	SchemaChecks Exclusive
	LimitTakes   Turns // by the name of the limit: see jobs.Limiter
	Waits        waits.List
}
