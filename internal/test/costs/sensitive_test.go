package costs

import (
	"slices"
	"testing"

	port "github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
)

// sensitive checks that a kind with sensitive fields costs a read, or a mark, once in a process, and after that as much
// as every other kind.
func sensitive(t *testing.T, e engine) {
	l := e.lab(t)
	kind := jobs.Kind[string]{Name: "marked", Sensitive: []string{"*", "result:a.b"}}
	enqueue := func(client *jobs.Client) (statements []string) {
		t.Helper()
		l.store.take()
		_, err := kind.Enqueue(t.Context(), client, "x")
		must(t, err)
		_, err = kind.EnqueueMany(t.Context(), client, []string{"x"})
		must(t, err)
		for _, a := range l.store.take() {
			statements = append(statements, a.statements...)
		}
		return statements
	}
	another := jobs.New(port.SealStore(l.store))
	for _, step := range []struct {
		name   string
		client *jobs.Client
		want   []string
	}{
		{"first", l.client, []string{"ListSensitiveFields", "AddSensitiveFields", "EnqueueKeylessJob", "EnqueueJobs"}},
		{"second", l.client, []string{"EnqueueKeylessJob", "EnqueueJobs"}},
		{"first of another process", another, []string{"ListSensitiveFields", "EnqueueKeylessJob", "EnqueueJobs"}},
		{"second of another process", another, []string{"EnqueueKeylessJob", "EnqueueJobs"}},
	} {
		if have := enqueue(step.client); !slices.Equal(have, step.want) {
			t.Errorf("the %s enqueues take %v, not %v", step.name, have, step.want)
		}
	}
}
