package postgres

import (
	"testing"
)

// engineTest is a test that shares its server with others, and has its own databases there. Tests that stop or
// configure their server are separate.
type engineTest struct {
	name string
	run  func(t *testing.T, site *site)
}

func TestEngine(t *testing.T) {
	t.Parallel()
	site := newSite(t, SharedServer.Postgres(t))
	for _, group := range []struct {
		name  string
		tests []engineTest
	}{
		{"Clock", clockTests},
		{"Collide", collideTests},
		{"Deadline", deadlineTests},
		{"Identity", identityTests},
		{"Groups", groupTests},
		{"Batch", batchTests},
		{"Listen", listenTests},
		{"Locks", locksTests},
		{"ForeignKeys", foreignKeyTests},
		{"Migrate", migrateTests},
		{"Names", namesTests},
		{"Notifications", notificationsTests},
		{"One", oneTests},
		{"Outcome", outcomeTests},
		{"Pool", poolTests},
		{"Pooler", poolerTests},
		{"Recount", recountTests},
		{"Server", serverTests},
		{"Reach", reachTests},
		{"Refusals", refusalsTests},
		{"Sequences", sequencesTests},
		{"Settings", settingsTests},
		{"Silence", silenceTests},
		{"Backlog", backlogTests},
		{"Stray", strayTests},
		{"Together", togetherTests},
		{"Tx", txTests},
	} {
		t.Run(group.name, func(t *testing.T) {
			t.Parallel()
			for _, test := range group.tests {
				t.Run(test.name, func(t *testing.T) {
					t.Parallel()
					test.run(t, site)
				})
			}
		})
	}
}
