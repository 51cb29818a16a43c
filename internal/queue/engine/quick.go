package engine

import "context"

// quick is the context key of reads that the server answers at once.
type quick struct{}

// Quick returns a context for reads of a few rows that the database has at hand: an engine may consider a connection lost that has not
// answered after some seconds, long before it gives up other reads.
func Quick(ctx context.Context) context.Context { return context.WithValue(ctx, quick{}, true) }

// IsQuick reports whether the context is one of [Quick].
func IsQuick(ctx context.Context) bool { return ctx.Value(quick{}) != nil }
