package sqlite

import (
	"encoding/json"
	"testing"

	"github.com/sqluice/sqluice/jobs"
)

// A CHECK of the application's table is enforced when a trigger of the application, fired by the library's INSERT, writes to it:
// for every form of the insert.
func TestChecksOfTheApplicationHold(t *testing.T) {
	payload := json.RawMessage("{}")
	for name, add := range map[string]func(*testing.T, *jobs.Client) error{
		"one": func(t *testing.T, c *jobs.Client) error {
			_, err := c.Enqueue(t.Context(), "k", payload)
			return err
		},
		"unique": func(t *testing.T, c *jobs.Client) error {
			_, err := c.Enqueue(t.Context(), "k", payload, jobs.Unique("u"))
			return err
		},
		"many": func(t *testing.T, c *jobs.Client) error {
			_, err := c.EnqueueMany(t.Context(), "k", []json.RawMessage{payload})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			store, client := queue(t)
			pool := plain(t, store.path)
			exec(t, pool, "budget")
			for range 2 {
				_, err := client.Enqueue(t.Context(), "k", payload)
				must(t, err)
			}
			if err := add(t, client); err == nil {
				t.Error("a third job was added")
			}
			if left := scan[int64](t, pool, "select_budget"); left != 0 {
				t.Errorf("the budget is %d", left)
			}
		})
	}
}
