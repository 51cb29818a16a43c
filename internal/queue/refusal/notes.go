package refusal

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// Action names the operation that the database refuses.
type Action string

const (
	Promote  Action = "promote"  // make a due job pending
	Claim    Action = "claim"    // hand a pending job to a worker
	Conflict Action = "conflict" // promote or claim, while another job has the key of a unique index of the application
	Renew    Action = "renew"    // renew the lease of a running job
	End      Action = "end"      // record the end of an attempt
	Rescue   Action = "rescue"   // release or fail the job of a worker that is gone
	Prune    Action = "prune"    // remove a job that ended long ago
	Expire   Action = "expire"   // end a job that was not started in time
)

// Actions returns all actions.
func Actions() []Action { return []Action{Promote, Claim, Conflict, Renew, End, Rescue, Prune, Expire} }

// Phrase returns the refused operation in words, for people.
func (a Action) Phrase() string {
	switch a {
	case Promote:
		return "make it pending"
	case Claim:
		return "let a worker claim it"
	case Conflict:
		return "let it go on beside another job"
	case Renew:
		return "renew its lease"
	case End:
		return "record the end of its attempt"
	case Rescue:
		return "take it from its worker, which is gone"
	case Expire:
		return "end it, though it was not started in time"
	default:
		return string(a) + " it"
	}
}

// Concerns reports whether the action applies to jobs with a status. A refusal of any other action no longer matters.
func (a Action) Concerns(status jobtype.Status) bool {
	switch a {
	case Promote:
		return status == jobtype.StatusScheduled
	case Claim:
		return status == jobtype.StatusPending
	case Prune:
		return status.Final()
	case Conflict, Expire:
		return status == jobtype.StatusScheduled || status == jobtype.StatusWaiting || status == jobtype.StatusPending
	default:
		return status == jobtype.StatusRunning
	}
}

const (
	// The pause before the next try of a refused job. NoteRefusal doubles it with each further refusal.
	firstDelay      = time.Second
	firstPruneDelay = time.Minute

	maxDelay = 10 * time.Minute // the longest time between two tries, except for Prune

	maxMessage  = 1000 // the largest number of kept bytes of an error
	maxExamples = 5    // the largest number of ids in a log line
)

// Delay returns the pause before the next try of an operation that the database has refused a number of times, at least once: a second,
// doubled each time, at most ten minutes.
func Delay(times int) time.Duration { return min(firstDelay<<min(times-1, 20), maxDelay) }

// Write runs statements in a separate transaction.
type Write = func(context.Context, func(context.Context, db.Querier) error) error

// Notes postpones refused jobs and logs refusals. The zero value, and nil, log nothing. It may be used concurrently.
type Notes struct {
	Log *slog.Logger // optional

	mu     sync.Mutex
	logged map[string]*loggedRefusals
}

// loggedRefusals counts the log lines of an action and the refusals since the last one.
type loggedRefusals struct {
	times    int       // the number of lines
	next     time.Time // the earliest time of the next line
	since    int       // refusals since the last line
	examples []string
}

// Postpone records that the database refuses an action on a job, and when to try again.
func (n *Notes) Postpone(ctx context.Context, write Write, now time.Time, action Action, job int64, cause error) error {
	n.Report(string(action), fmt.Sprintf("job %d", job), cause)
	again := now.Add(firstDelay)
	if action == Prune {
		again = now.Add(firstPruneDelay)
	}
	err := write(ctx, func(ctx context.Context, q db.Querier) error {
		return q.NoteRefusal(ctx, db.NoteRefusalParams{
			JobID: job, Action: string(action), Message: core.Clean(cause.Error(), maxMessage),
			Now: core.Micros(now), AgainAt: core.Micros(again),
		})
	})
	return core.Wrap(err, "record that the database refuses to %s job %d", action, job)
}

// Report logs that the database refuses an action on a row: at once the first time, and then at growing intervals, with the number of
// refusals since the last line and some of the rows.
func (n *Notes) Report(action, row string, cause error) {
	if n == nil || n.Log == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.logged == nil {
		n.logged = map[string]*loggedRefusals{}
	}
	t := n.logged[action]
	if t == nil {
		t = &loggedRefusals{}
		n.logged[action] = t
	}
	if t.since++; len(t.examples) < maxExamples && !slices.Contains(t.examples, row) {
		t.examples = append(t.examples, row)
	}
	now := time.Now()
	if now.Before(t.next) {
		return
	}
	t.times++
	n.Log.Error("the database refuses a row: it is set aside and tried again at growing intervals; `sqluice why` lists the reason",
		"action", action, "rows", strings.Join(t.examples, ", "), "refusals", t.since, "error", cause)
	t.since, t.examples, t.next = 0, nil, now.Add(Delay(t.times))
}
