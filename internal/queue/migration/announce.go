package migration

import (
	"log/slog"

	"github.com/sqluice/sqluice/internal/queue/engine"
)

// Announce logs which programs will be refused once the pending migrations have run. It logs nothing when programs of the present
// schema will still run.
func Announce(log *slog.Logger, found engine.Schema) {
	if found.Refuses != 0 {
		log.Warn("migrations that are not compatible begin: programs of older schema versions will be refused",
			"schema", found.Have, "runs_from", found.Refuses)
	}
}

// AnnounceAdoption logs the version that the tables of a database without versions equal.
func AnnounceAdoption(log *slog.Logger, a *engine.Adoption) {
	log.Info("the queue's tables had no versions and are adopted", "schema", a.Version, "own", a.Own)
}
