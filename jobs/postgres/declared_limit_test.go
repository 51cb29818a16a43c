package postgres

import (
	"testing"

	"github.com/sqluice/sqluice/jobs"
)

// A limit is deleted while another program's declaration is put in force: the one that is in force afterwards counts.
func TestADeletedLimitBesideANewDeclaration(t *testing.T) {
	t.Parallel()
	_, client, url := newSite(t, SharedServer.Postgres(t)).queue(t)
	for _, running := range []int{2, 3} {
		drain(t, client, jobs.Config{QueueLimits: map[string]jobs.LimitValues{"q": {Running: running}}}, handlers{"k": nothing})
	}
	must(t, client.SetQueueLimit(t.Context(), "q", jobs.LimitValues{Running: 9}))
	tx, err := dial(t, url).Begin(t.Context())
	must(t, err)
	_, err = tx.Exec(t.Context(), sqlFile(t, "swap_declarations"))
	must(t, err)
	deleted := make(chan error, 1)
	go func() {
		_, err := client.DeleteQueueLimit(t.Context(), "q")
		deleted <- err
	}()
	admin := dial(t, url)
	eventually(t, "the deletion waits", func() bool { return len(deleted) > 0 || scan[int](t, admin, "count_waiting") == 1 })
	must(t, tx.Commit(t.Context()))
	must(t, receive(t, "the end of the deletion", deleted))
	list, err := client.Limits(t.Context())
	must(t, err)
	if len(list) != 1 || list[0].Running != 2 || !list[0].Declared {
		t.Errorf("the limits are %+v, not the 2 jobs at once that are declared now", list)
	}
}
