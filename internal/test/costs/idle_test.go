package costs

import (
	"context"
	"slices"
	"strings"
	"testing"

	port "github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
)

// idle counts the cost of a job for a runner without work: one that its client adds, which is handed to it, and one
// that another client adds, which it claims.
func idle(t *testing.T, l *lab, f *figures) {
	t.Helper()
	const each = 20
	ends := func(statement string) bool { return strings.HasPrefix(statement, "Complete") }
	ctx, stop := context.WithTimeout(t.Context(), hang)
	defer stop()
	recorded := make(chan struct{}, 1)
	l.store.hears = true
	l.store.after = func(a asked) {
		if slices.ContainsFunc(a.statements, ends) {
			recorded <- struct{}{}
		}
	}
	// Whether a runner claims ahead depends on the time that a cycle takes.
	runner, err := jobs.NewRunner(l.client, jobs.Config{Name: "costs", Ahead: -1, Grace: -1, Logger: quiet()})
	must(t, err)
	noop.Handle(runner, func(context.Context, jobs.Job, payload) error { return nil })
	running, end := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- runner.Run(running) }()

	// Where the machine is slow, the runner often claims and looks for due jobs, as in a drain: round trips are those of a lone claim.
	// No signal says that the runner is idle; a job that comes before is claimed together with an end, or by itself.
	for _, one := range []struct {
		what  string
		by    *jobs.Client
		moved func(asked) bool
	}{
		{"a job for an idle runner of the same process", l.client, func(a asked) bool { return a.has("EnqueueClaimedJob") }},
		{"a job for an idle runner of another", jobs.New(port.SealStore(l.store.Store)), func(a asked) bool {
			return a.has("ClaimJobs") && !slices.ContainsFunc(a.statements, ends)
		}},
	} {
		l.store.take()
		trips := map[int64]int{}
		n, statements := 0, 0
		for n < each {
			_, err := noop.Enqueue(ctx, one.by, payloads(1)[0])
			must(t, err)
			select {
			case <-recorded:
			case <-ctx.Done():
				t.Fatalf("%s: %d of %d were measured", one.what, n, each)
			}
			for _, a := range l.store.take() {
				if a.write && one.moved(a) {
					for _, name := range a.statements {
						if name != "GetNextRunAfter" { // see count
							statements++
						}
					}
					if !a.has("GetNextRunAfter") || a.trips == 0 {
						trips[a.trips]++
					}
					n++
				}
			}
		}
		f.add(float64(statements)/float64(n), one.what+", statements")
		if rule := mostOften(trips); rule > 0 { // there is a server
			f.add(float64(rule), one.what+", round trips")
		}
	}
	end()
	must(t, <-ended)
}
