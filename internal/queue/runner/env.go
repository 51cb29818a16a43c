package runner

import (
	"context"
	"log/slog"

	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// env is what the parts of a run use and do not change.
type env struct {
	store    engine.Store
	observer *jobtype.Observer
	config   Config
	log      *slog.Logger
	handlers map[string]Handler
	kinds    string          // the handlers' names as a JSON list
	values   context.Context // those of Run's context, for handlers; it does not end
}
