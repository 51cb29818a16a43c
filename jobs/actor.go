package jobs

import (
	"context"

	"github.com/sqluice/sqluice/internal/queue/audit"
)

// WithActor returns a context for changes that a person makes, or a program on a person's behalf. Each change that a [Client]
// or an inspector makes with it leaves a row in the audit log, written in the same transaction: see package jobs/inspect.
// Nothing is recorded of a change that did not happen, nor of one without an actor, as a service's own code makes. A
// [Runner] has no actor, whatever context it was started with.
//
// actor is a name as of [ValidateName]; with another one every change is an [InvalidError].
func WithActor(ctx context.Context, actor string) context.Context { return audit.With(ctx, actor) }
