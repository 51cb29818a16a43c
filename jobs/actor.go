package jobs

import (
	"context"

	"github.com/sqluice/sqluice/internal/queue/audit"
)

// WithActor returns a context for changes that a person makes, or a program on a person's behalf. Each change that a [Client]
// or an inspector makes with it adds a row to the audit log in the same transaction: see package jobs/inspect. A change that
// did not happen is not recorded, nor is one without an actor, such as a service's own code makes. A [Runner] has no actor,
// whatever context it was started with.
//
// actor is a name that satisfies [ValidateName]; with any other, every change returns an [InvalidError].
func WithActor(ctx context.Context, actor string) context.Context { return audit.With(ctx, actor) }
