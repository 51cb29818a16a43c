package engine

// Sealed holds a Scope that only this module can take out. Types embed it.
type Sealed struct{ scope *Scope }

// Seal returns a Sealed with the scope.
func Seal(s Scope) Sealed { return Sealed{&s} }

func (s Sealed) sealedScope() *Scope { return s.scope }

// ScopeOf returns the scope of a type that embeds Sealed, such as *jobs.Client. The caller must not change it.
func ScopeOf(carrier interface{ sealedScope() *Scope }) *Scope { return carrier.sealedScope() }
