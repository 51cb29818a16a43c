package core

// The scopes of limits, as the column scope has them.
const (
	ScopeKind  = "kind"  // the jobs of each key of a kind, by itself
	ScopeTotal = "total" // all jobs of a kind together
	ScopeQueue = "queue" // all jobs of a queue together
)
