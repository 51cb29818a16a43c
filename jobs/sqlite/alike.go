package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/jobs"
)

const (
	// alikeLeast is from how many callers' functions in a transaction on jobs that are alike are added together.
	alikeLeast = 4

	// alikeMany is from how many such jobs one statement for all takes less time than one for each.
	alikeMany = 3

	// alikeBytes is from which size on a payload is added by itself: to make it a part of a list, and to take it out of that,
	// costs more than is spared.
	alikeBytes = 768

	// alikeWithin is how far apart their times may be. Callers of one group come within much less, unless the clock is set.
	alikeWithin = 100 * time.Millisecond
)

// alike are jobs without keys that callers who share a transaction add in a row, and that differ in nothing but payload and,
// a little, time. They wait for the transaction's next other statement, or its commit, and one statement adds them all then, which
// takes a third of the time for each. Their callers are told the ids that will be theirs: the ones that follow the last. Should
// those turn out to be others, the transaction is rolled back, and run again without this.
type alike struct {
	on      bool
	next    int64 // the id of the next job that is added; not above 0 when it is not known
	waiting []db.EnqueueKeylessJobParams
	failed  error // why those that waited could not be added
}

// begin is for each transaction. It keeps the memory of the list.
func (a *alike) begin(on bool) { *a = alike{on: on, waiting: a.waiting[:0]} }

// end is for each as well. It keeps no payloads.
func (a *alike) end() {
	clear(a.waiting) // those of a transaction that failed
	a.begin(false)
}

// await has a job wait, where that may be, and returns the id that it will have. The next job does not wait for those before it
// that it is not alike to.
func (w *writes) await(ctx context.Context, arg db.EnqueueKeylessJobParams) (id int64, waits bool, err error) {
	a := &w.alike
	if a.failed != nil {
		return 0, false, a.failed // SQLite may have rolled the transaction back: nothing may run after that
	}
	may := a.on && arg.Status == string(jobs.StatusPending) && arg.RunAfter == arg.Now && len(arg.Payload) < alikeBytes
	if !may || len(a.waiting) > 0 && !sameButPayload(a.waiting[0], arg) {
		if err := w.addWaiting(ctx); err != nil {
			return 0, false, err
		}
	}
	if !may || a.next <= 0 {
		return 0, false, nil
	}
	a.waiting = append(a.waiting, arg)
	a.next++
	return a.next - 1, true, nil
}

// addWaiting adds the jobs that wait.
func (w *writes) addWaiting(ctx context.Context) error {
	a := &w.alike
	if len(a.waiting) == 0 || a.failed != nil {
		return a.failed
	}
	list := a.waiting
	defer clear(list) // keeps no payload
	a.waiting = a.waiting[:0]
	if len(list) < alikeMany {
		a.failed = w.addEach(ctx, list, a.next-int64(len(list)))
	} else {
		a.failed = w.addAll(ctx, list, a.next-1)
	}
	return a.failed
}

// addEach inserts jobs one by one. Their ids must follow one another from first on; otherwise it returns errUncounted.
func (w *writes) addEach(ctx context.Context, list []db.EnqueueKeylessJobParams, first int64) error {
	for i, arg := range list {
		id, err := w.add(ctx, arg)
		if err != nil {
			return err
		}
		if id != first+int64(i) {
			w.uncounted = true
			return errUncounted
		}
	}
	return nil
}

// addAll adds jobs the last of which is to have that id. They get the time of the last that came, so that none is said to
// have been added before its caller wanted that; among jobs of one time the order is that of the ids.
func (w *writes) addAll(ctx context.Context, list []db.EnqueueKeylessJobParams, lastID int64) error {
	payloads := make([]string, len(list))
	now := list[0].Now
	for i, arg := range list {
		payloads[i] = arg.Payload
		now = max(now, arg.Now)
	}
	text, err := json.Marshal(payloads)
	if err != nil {
		return err
	}
	arg := list[0]
	added, last, err := w.addMany(ctx, db.EnqueueJobsParams{
		Payloads: string(text), Kind: arg.Kind, Queue: arg.Queue, Status: arg.Status, Priority: arg.Priority, RunAfter: now,
		MaxAttempts: arg.MaxAttempts, Timeout: arg.Timeout, UserID: arg.UserID, Tags: arg.Tags, Metadata: arg.Metadata, Now: now,
	})
	switch {
	case err != nil:
		return err
	case added != int64(len(list)) || last != lastID:
		w.uncounted = true
		return errUncounted
	}
	return nil
}

func sameButPayload(a, b db.EnqueueKeylessJobParams) bool {
	return max(a.Now, b.Now)-min(a.Now, b.Now) < alikeWithin.Microseconds() &&
		a.Kind == b.Kind && a.Queue == b.Queue && a.Priority == b.Priority && a.MaxAttempts == b.MaxAttempts && a.Timeout == b.Timeout &&
		same(a.UserID, b.UserID) && same(a.Tags, b.Tags) && same(a.Metadata, b.Metadata)
}

func same(a, b *string) bool { return a == b || a != nil && b != nil && *a == *b }

// following are all other statements of the writer: they come after the jobs that wait.
type following struct {
	*statements
	writes *writes
}

func (f following) before(ctx context.Context) error {
	err := f.writes.addWaiting(ctx)
	f.writes.alike.next = 0 // the statement may add jobs
	return err
}

func (f following) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if err := f.before(ctx); err != nil {
		return nil, err
	}
	return f.statements.ExecContext(ctx, query, args...)
}

func (f following) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if err := f.before(ctx); err != nil {
		return nil, err
	}
	return f.statements.QueryContext(ctx, query, args...)
}

func (f following) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	if err := f.before(ctx); err != nil {
		ended, cancel := context.WithCancel(ctx)
		cancel() // the only way to a row that is an error; transact returns which it was
		return f.statements.QueryRowContext(ended, query, args...)
	}
	return f.statements.QueryRowContext(ctx, query, args...)
}
