package engine

import "context"

// briefly is the context key of writes that must not wait.
type briefly struct{}

// Briefly returns a context whose writes wait for a moment only, in place of some seconds, for rows that other transactions have locked.
// When a write of many jobs waited in vain, its parts then find the jobs with locked rows. It means nothing to an engine whose
// [Store.LocksRows] is false.
func Briefly(ctx context.Context) context.Context { return context.WithValue(ctx, briefly{}, true) }

// IsBrief reports whether the context is one of [Briefly].
func IsBrief(ctx context.Context) bool { return ctx.Value(briefly{}) != nil }
