package jobs

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/jobrow"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// EnqueueOption sets how a job is enqueued and run. Options are values: keep and reuse them freely. A later option of the same
// sort overrides an earlier one.
type EnqueueOption func(*enqueue)

// enqueue holds the options and the kind's values for one job, or for many that differ only in their payloads.
type enqueue struct {
	kind        string
	queue       string        // empty if the declarations of the kind decide
	priority    *int          // nil likewise
	at          *time.Time    // when given
	in          time.Duration // otherwise
	startBy     time.Time     // zero: none
	startWithin time.Duration // from the due time, instead of startBy
	maxAttempts int
	timeout     time.Duration
	uniqueKey   *string
	unique      *lifecycle.Unique // nil: jobs with the key are kept
	requestID   *string
	limitKey    func(i int) string // of the ith job; nil: the jobs obey no limit
	userID      *string
	tags        []string
	metadata    any
	version     int      // the version of the payload
	sensitive   []string // the sensitive fields of the kind
	payloads    payloadSource
	kinds       kindDefaults
}

// payloadSource says where payloads come from.
type payloadSource struct {
	encoded   bool // package json
	marshaled bool // marshalers, possibly the application's
}

// kindDefaults holds the values for options with the zero value. An empty queue leaves it to the kind's declarations.
type kindDefaults struct {
	queue    string
	settings jobrow.Settings
}

// Queue puts the job on the named queue instead of its kind's. An empty name means the kind's: see [Kind.Queue].
func Queue(name string) EnqueueOption {
	return func(e *enqueue) { e.queue = cmp.Or(name, e.kinds.queue) }
}

// Priority runs the job before those of its queue with a lower priority, and overrides its kind's: see [Kind.Priority]. From
// [MinPriority] to [MaxPriority].
func Priority(p int) EnqueueOption { return func(e *enqueue) { e.priority = &p } }

// In delays the job. 0 means at once; a negative delay is refused.
func In(d time.Duration) EnqueueOption { return func(e *enqueue) { e.in, e.at = d, nil } }

// At runs the job at a time or later. A time more than [PastTolerance] ago is refused, as is one after the year 9999:
// both are most likely mistakes. Times are kept to the microsecond. The zero time means at once.
func At(t time.Time) EnqueueOption {
	return func(e *enqueue) {
		e.at, e.in = nil, 0
		if !t.IsZero() {
			e.at = &t
		}
	}
}

// StartBy ends the job as cancelled, with the cause [CauseExpired] among its errors, when no worker has started it by a time. That
// happens within about a second, also while its queue is paused or no worker takes its kind, as long as any worker runs. It does not
// limit later attempts. A time that has passed is refused, as is one that is not after the job's run-after time, and one after the
// year 9999. Times are kept to the microsecond. The zero time means none.
func StartBy(t time.Time) EnqueueOption {
	return func(e *enqueue) { e.startBy, e.startWithin = t, 0 }
}

// StartWithin is [StartBy] with a time relative to the job's due time: its run-after time, or, for a schedule, its tick. 0 means none; a
// negative duration is refused.
func StartWithin(d time.Duration) EnqueueOption {
	return func(e *enqueue) { e.startBy, e.startWithin = time.Time{}, d }
}

// MaxAttempts fails the job for good after n counted attempts: 1 to [MaxAttemptsLimit]. 0, the default, leaves the number to the kind:
// see [Kind.MaxAttempts].
func MaxAttempts(n int) EnqueueOption {
	return func(e *enqueue) { e.maxAttempts = n }
}

// Timeout cancels the context of an attempt that takes longer, which then counts as failed. 0 means the kind's
// timeout. At least a millisecond, and kept to the microsecond.
func Timeout(d time.Duration) EnqueueOption { return func(e *enqueue) { e.timeout = d } }

// RequestID makes the enqueue idempotent: if a job of the same kind was ever enqueued with the same id, and its row is
// still kept, the enqueue returns that job instead of adding a second one. An empty id means none.
func RequestID(id string) EnqueueOption { return func(e *enqueue) { e.requestID = core.Optional(id) } }

// LimitKey makes the job obey the limits of its kind under a key: see [Limit] and [Client.SetLimit]. It overrides [Limit.Key]. The jobs of a
// kind with an empty key share one. Without a limit in force the job runs like any other. At most [MaxLimitKeyLength] characters.
func LimitKey(key string) EnqueueOption {
	return func(e *enqueue) { e.limitKey = func(int) string { return key } }
}

// limitKeyOf returns the limit key of the ith job; nil if the jobs have none.
func (e *enqueue) limitKeyOf(i int) *string {
	if e.limitKey == nil {
		return nil
	}
	return new(e.limitKey(i))
}

// UserID sets the user for whom the job runs; jobs can be listed by it. An empty id means none.
func UserID(id string) EnqueueOption { return func(e *enqueue) { e.userID = core.Optional(id) } }

// Tags adds labels to the job; jobs can be listed by them. An empty tag means none.
func Tags(tags ...string) EnqueueOption {
	return func(e *enqueue) {
		e.tags = e.tags[:len(e.tags):len(e.tags)]
		for _, tag := range tags {
			if tag != "" {
				e.tags = append(e.tags, tag)
			}
		}
	}
}

// Metadata attaches any JSON-encodable value. Fields whose names begin with sqluice_ are the queue's own: of them only [VersionField] may
// be given. With [Kind.Version], [Debounce] and schedules, which add such fields, the value must be an object.
func Metadata(v any) EnqueueOption { return func(e *enqueue) { e.metadata = v } }

// row returns the columns, from checked options or not.
func (e *enqueue) row(now, runAfter time.Time, status Status, metadata *string) db.EnqueueJobParams {
	return db.EnqueueJobParams{
		Kind: e.kind, Queue: cmp.Or(e.queue, DefaultQueue), Status: string(status), Priority: int64(core.Deref(e.priority)), RunAfter: core.Micros(runAfter),
		MaxAttempts: int64(e.maxAttempts), Timeout: e.timeout.Microseconds(), UniqueKey: e.uniqueKey, RequestID: e.requestID, LimitKey: e.limitKeyOf(0),
		UserID: e.userID, Tags: e.tagsColumn(), Metadata: metadata, Now: core.Micros(now),
	}
}

// runAfter returns the time and the status with which a new job starts.
func (e *enqueue) runAfter(now time.Time) (time.Time, Status, error) {
	at := now.Add(e.in)
	if e.at != nil {
		at = *e.at
	}
	if how := e.debounce(); how != nil {
		if e.at != nil || e.in != 0 {
			return at, "", jobtype.NewInvalidError("delay or run-after time", "", "not be given together with a debounce, which is one")
		}
		at = now.Add(how.Quiet)
	}
	switch {
	case e.in < 0:
		return at, "", jobtype.NewInvalidError("delay", e.in.String(), "not be negative; leave it out to run at once")
	case at.Before(now.Add(-PastTolerance)):
		return at, "", jobtype.NewInvalidError("run-after time", at.Format(time.RFC3339), "not lie in the past; leave it out to run at once")
	}
	at = at.Truncate(time.Microsecond)
	if at.After(core.Latest) {
		return at, "", jobtype.NewInvalidError("run-after time", at.Format(time.RFC3339), "not lie after the year 9999")
	}
	if at.After(now) {
		return at, StatusScheduled, nil
	}
	return at, StatusPending, nil
}

// startByColumn returns the time by which a job must start that is enqueued at a time; nil for none.
func (e *enqueue) startByColumn(now, runAfter time.Time) (*int64, error) {
	by := e.startBy
	switch {
	case e.startWithin == 0 && by.IsZero():
		return nil, nil
	case e.startWithin != 0:
		due := runAfter
		if due.Before(now) {
			due = now
		}
		by = due.Add(e.startWithin)
	}
	by = by.Truncate(time.Microsecond)
	for _, bound := range []struct {
		refused bool
		must    string
	}{
		{!by.After(now), "lie in the future; leave it out for none"},
		{!by.After(runAfter), "lie after the run-after time " + runAfter.Format(time.RFC3339)},
		{by.After(core.Latest), "not lie after the year 9999"},
	} {
		if bound.refused {
			return nil, jobtype.NewInvalidError("start-by time", by.Format(time.RFC3339), bound.must)
		}
	}
	return new(core.Micros(by)), nil
}

// check returns the first fault of everything but the times.
func (e *enqueue) check() error {
	return cmp.Or(e.checkNames(), e.checkNumbers(), e.checkKeys(), e.checkUnique(), e.checkTags())
}

func (e *enqueue) checkNames() error {
	if err := ValidateName("kind", e.kind); err != nil {
		return err
	}
	return ValidateName("queue", cmp.Or(e.queue, DefaultQueue))
}

func (e *enqueue) checkNumbers() error {
	switch priority := core.Deref(e.priority); {
	case e.version < 0:
		return jobtype.NewInvalidError("version of the kind", fmt.Sprint(e.version), "be from 0 on: AnyVersion is for handlers")
	case priority < MinPriority || priority > MaxPriority:
		return jobtype.NewInvalidError("priority", fmt.Sprint(priority), fmt.Sprintf("be from %d to %d", MinPriority, MaxPriority))
	case e.maxAttempts < 0 || e.maxAttempts > MaxAttemptsLimit:
		return jobtype.NewInvalidError("max attempts", fmt.Sprint(e.maxAttempts), fmt.Sprintf("be from 1 to %d, or 0 for the kind's own", MaxAttemptsLimit))
	case e.kinds.settings.MaxAttempts < 0 || e.kinds.settings.MaxAttempts > MaxAttemptsLimit:
		return jobtype.NewInvalidError("max attempts of the kind", fmt.Sprint(e.kinds.settings.MaxAttempts), fmt.Sprintf("be from 1 to %d, or 0 for %d", MaxAttemptsLimit, DefaultMaxAttempts))
	case e.startWithin < 0:
		return jobtype.NewInvalidError("start-within time", e.startWithin.String(), "not be negative; leave it out for none")
	case e.startWithin > 0 && e.startWithin < time.Microsecond:
		return jobtype.NewInvalidError("start-within time", e.startWithin.String(), "be at least 1us, or 0 for none")
	case e.timeout < 0:
		return jobtype.NewInvalidError("timeout", e.timeout.String(), "not be negative")
	case e.timeout > 0 && e.timeout < time.Millisecond:
		return jobtype.NewInvalidError("timeout", e.timeout.String(), "be at least 1ms, or 0 for the kind's own")
	}
	return nil
}

// checkKeys checks each key, and then those that an index holds together with the kind.
func (e *enqueue) checkKeys() error {
	type key struct {
		field string
		value *string
	}
	keys := [...]key{{"unique key", e.uniqueKey}, {"request id", e.requestID}, {"user id", e.userID}}
	for _, key := range keys {
		if key.value != nil {
			if err := core.CheckText(key.field, *key.value, MaxKeyLength); err != nil {
				return err
			}
		}
	}
	if key := e.limitKeyOf(0); key != nil && *key != "" {
		if err := ValidateName("limit key", *key); err != nil {
			return err
		}
	}
	for _, key := range keys[:2] {
		if key.value != nil && len(e.kind)+len(*key.value) > MaxKeyBytes {
			return jobtype.NewInvalidError(key.field, strconv.Quote(*key.value), fmt.Sprintf("have at most %d bytes together with the kind, not %d", MaxKeyBytes, len(e.kind)+len(*key.value)))
		}
	}
	return nil
}

func (e *enqueue) checkTags() error {
	if len(e.tags) > MaxTags {
		return jobtype.NewInvalidError("number of tags", fmt.Sprint(len(e.tags)), fmt.Sprintf("be at most %d", MaxTags))
	}
	for _, tag := range e.tags {
		if err := ValidateName("tag", tag); err != nil {
			return err
		}
	}
	return nil
}

// tagsColumn returns the JSON list of the tags, or nil for none.
func (e *enqueue) tagsColumn() *string {
	if len(e.tags) == 0 {
		return nil
	}
	return new(core.JSONNames(e.tags))
}

// checkedMetadata returns the column of the metadata, and an error for a field that only the queue may write: the job would be shown with
// false data. The caller may set a version. A middleware may pass on a debounce that it has read, which is overwritten.
func (e *enqueue) checkedMetadata() (*string, error) {
	metadata, err := e.metadataColumn()
	if err != nil || e.metadata == nil {
		return metadata, err
	}
	return metadata, e.checkReserved(*metadata)
}

func (e *enqueue) checkReserved(metadata string) error {
	for name, value := range core.ReservedFields(metadata) {
		switch version := 0; {
		case name == jobtype.DebounceField && e.debounce() != nil:
		case name != VersionField:
			return jobtype.NewInvalidError("metadata", strconv.Quote(name), "have no field whose name begins with sqluice_, except "+VersionField)
		case json.Unmarshal(value, &version) != nil || version < 0:
			return jobtype.NewInvalidError("metadata", VersionField, "have a whole number of at least 0 as its "+VersionField)
		}
	}
	return nil
}

// metadataColumn returns the column of the metadata; nil for none.
func (e *enqueue) metadataColumn() (*string, error) {
	var metadata *string
	if e.metadata != nil {
		s, err := core.Encode("metadata", e.metadata)
		if err != nil {
			return nil, err
		}
		metadata = &s
	}
	if e.version != 0 {
		var err error
		if metadata, err = core.WithField(metadata, VersionField, e.version, ": the kind has a version, which is kept there"); err != nil {
			return nil, err
		}
	}
	return e.withDebounce(metadata)
}
