package jobs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/audit"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// PauseOption is an option of a pause of a queue or a kind: [PauseUntil], [PauseFor], [PauseReason].
type PauseOption func(*pause)

// pause holds the options of a pause of a queue or a kind.
type pause struct {
	until  time.Time     // when given
	after  time.Duration // otherwise, unless 0
	reason string
}

// PauseUntil ends the pause at a time. With the zero time it lasts until the queue or the kind is resumed.
func PauseUntil(t time.Time) PauseOption { return func(p *pause) { p.until, p.after = t, 0 } }

// PauseFor ends the pause after a time. With 0 it lasts until the queue or the kind is resumed.
func PauseFor(d time.Duration) PauseOption {
	return func(p *pause) { p.until, p.after = time.Time{}, d }
}

// PauseReason sets the reason shown to people: at most 1000 characters, without the space around it. An empty text is none.
func PauseReason(text string) PauseOption {
	return func(p *pause) { p.reason = strings.TrimSpace(text) }
}

// validate returns an error for an invalid reason.
func (p pause) validate() error {
	if n := utf8.RuneCountInString(p.reason); n > maxReason || !utf8.ValidString(p.reason) || strings.ContainsRune(p.reason, 0) {
		return jobtype.NewInvalidError("reason", fmt.Sprintf("%d characters", n), fmt.Sprintf("have at most %d characters, in UTF-8 and without NUL", maxReason))
	}
	return nil
}

// maxReason is the longest reason of a pause, in characters.
const maxReason = 1000

// pauseEnd returns the end of a pause in microseconds; nil if it lasts until the queue or the kind is resumed.
func (c *Client) pauseEnd(ctx context.Context, p pause) (*int64, error) {
	if p.after == 0 && p.until.IsZero() {
		return nil, nil
	}
	now, until := c.store.NowWithin(ctx), p.until
	if p.after != 0 {
		until = now.Add(p.after)
	}
	if !until.After(now) || until.After(core.Latest) {
		return nil, jobtype.NewInvalidError("end of the pause", until.Format(time.RFC3339), "lie in the future, and not after the year 9999")
	}
	return new(core.Micros(until)), nil
}

// PauseQueue stops all runners from claiming jobs of a queue; running jobs continue. It reports whether that changed anything: of two
// pauses the later end applies, and no end is the latest. To end a pause earlier, resume the queue first. A queue without jobs can be
// paused too. When a pause ends by itself, a runner of any queue ends it at that time, or the next one that starts.
func (c *Client) PauseQueue(ctx context.Context, name string, opts ...PauseOption) (bool, error) {
	return c.pause(ctx, queueChange{action: jobtype.ActionPause, queue: name}, opts)
}

// ResumeQueue undoes PauseQueue and reports whether the queue was paused. Paused kinds in it stay paused.
func (c *Client) ResumeQueue(ctx context.Context, name string) (bool, error) {
	return c.resume(ctx, queueChange{action: jobtype.ActionResume, queue: name})
}

// PauseKind stops all runners from claiming jobs of a kind from a queue. Running jobs and the queue's jobs of other kinds continue.
// It reports whether that changed anything, and a pause ends, as described for [Client.PauseQueue]. A kind without jobs can be
// paused too.
func (c *Client) PauseKind(ctx context.Context, queue, kind string, opts ...PauseOption) (bool, error) {
	return c.pause(ctx, queueChange{jobtype.ActionPauseKind, queue, &kind}, opts)
}

// ResumeKind undoes PauseKind and reports whether the kind was paused in the queue. While the queue itself is paused too, its jobs
// keep waiting for [Client.ResumeQueue].
func (c *Client) ResumeKind(ctx context.Context, queue, kind string) (bool, error) {
	return c.resume(ctx, queueChange{jobtype.ActionResumeKind, queue, &kind})
}

// queueChange is a change of a queue, or of a kind in it.
type queueChange struct {
	action jobtype.Action
	queue  string
	kind   *string // nil for a change of the whole queue
}

// String returns the change as error texts show it.
func (q queueChange) String() string {
	if q.kind == nil {
		return fmt.Sprintf("%s queue %s", q.action, strconv.Quote(q.queue))
	}
	return fmt.Sprintf("%s %s of queue %s", q.action, strconv.Quote(*q.kind), strconv.Quote(q.queue))
}

// validate returns an error for an invalid name.
func (q queueChange) validate() error {
	if err := ValidateName("queue", q.queue); err != nil || q.kind == nil {
		return err
	}
	return ValidateName("kind", *q.kind)
}

// pause adds a pause, unless an existing one ends as late. The audit log records both.
func (c *Client) pause(ctx context.Context, change queueChange, opts []PauseOption) (bool, error) {
	var p pause
	for _, opt := range opts {
		opt(&p)
	}
	if err := errors.Join(change.validate(), p.validate()); err != nil {
		return false, fmt.Errorf("%s: %w", change, err)
	}
	end, err := c.pauseEnd(ctx, p)
	if err != nil {
		return false, fmt.Errorf("%s: %w", change, err)
	}
	return c.changeQueue(ctx, change, func(ctx context.Context, q db.Querier, now int64, by *string) (changed bool, detail json.RawMessage, err error) {
		row := db.Pause{
			Queue: change.queue, Kind: core.Deref(change.kind), PausedAt: now, PausedUntil: end, PausedBy: by, Reason: core.Optional(p.reason), UpdatedAt: now,
		}
		said, changed, err := putPause(ctx, q, row)
		if err == nil {
			detail, err = said.text()
		}
		return changed, detail, err
	})
}

// putPause adds a pause, or replaces an existing one that ends sooner.
func putPause(ctx context.Context, q db.Querier, row db.Pause) (pauseDetail, bool, error) {
	said := detailOf(row)
	said.By = "" // the entry has it by itself
	for range pauseTries {
		n, err := q.Pause(ctx, db.PauseParams{
			Queue: row.Queue, Kind: row.Kind, Now: row.UpdatedAt, PausedUntil: row.PausedUntil, PausedBy: row.PausedBy, Reason: row.Reason,
		})
		if err != nil || n > 0 {
			return said, n > 0, err
		}
		there, err := q.GetPause(ctx, db.GetPauseParams{Queue: row.Queue, Kind: row.Kind})
		if err != nil {
			return said, false, err
		}
		if len(there) == 0 {
			continue // it was resumed in between, or the application ignores the new row
		}
		before := detailOf(there[0])
		switch {
		case isOver(there[0], row.UpdatedAt):
		case there[0].PausedUntil == nil, row.PausedUntil != nil && *row.PausedUntil <= *there[0].PausedUntil:
			if said != (pauseDetail{}) { // otherwise it adds nothing new
				said.Kept = &before
			}
			return said, false, nil
		default:
			row.PausedAt = there[0].PausedAt
			said.Replaced = &before
		}
		n, err = q.ReplacePause(ctx, db.ReplacePauseParams{
			Queue: row.Queue, Kind: row.Kind, Now: row.UpdatedAt, PausedAt: row.PausedAt, PausedUntil: row.PausedUntil, PausedBy: row.PausedBy, Reason: row.Reason,
		})
		if n == 0 {
			said = pauseDetail{} // nothing was changed
		}
		return said, n > 0, err
	}
	return pauseDetail{}, false, errPauseIgnored
}

// pauseTries bounds the tries to add a pause: between two of them other callers may add one and remove it.
const pauseTries = 20

var errPauseIgnored = errors.New("write the pause: the database ignored the row, as a trigger or a policy of the application on sqluice_pauses does")

// isOver reports whether a pause has ended although no worker has removed it yet.
func isOver(row db.Pause, now int64) bool { return row.PausedUntil != nil && *row.PausedUntil <= now }

// pauseDetail is the detail of a pause's audit entry: the end and the reason, if given, and the existing pause.
type pauseDetail struct {
	Until    time.Time    `json:"until,omitzero"`
	By       string       `json:"by,omitempty"`
	Reason   string       `json:"reason,omitempty"`
	Replaced *pauseDetail `json:"replaced,omitempty"` // the existing pause, if the new one ends later and replaced it
	Kept     *pauseDetail `json:"kept,omitempty"`     // the existing pause, if it ends at the same time or later and was kept
	Ended    *pauseDetail `json:"ended,omitempty"`    // the existing pause, if a resume ended it
}

// detailOf returns the detail of a pause.
func detailOf(row db.Pause) pauseDetail {
	return pauseDetail{Until: core.Time(core.Deref(row.PausedUntil)), By: core.Deref(row.PausedBy), Reason: core.Deref(row.Reason)}
}

// text returns the detail as an entry stores it; nil if it is empty.
func (d pauseDetail) text() (json.RawMessage, error) {
	if d == (pauseDetail{}) {
		return nil, nil
	}
	return json.Marshal(d)
}

func (c *Client) resume(ctx context.Context, change queueChange) (bool, error) {
	return c.changeQueue(ctx, change, func(ctx context.Context, q db.Querier, now int64, _ *string) (changed bool, detail json.RawMessage, err error) {
		there, err := q.GetPause(ctx, db.GetPauseParams{Queue: change.queue, Kind: core.Deref(change.kind)})
		if err != nil || len(there) == 0 {
			return false, nil, err
		}
		n, err := q.Resume(ctx, db.ResumeParams{Queue: change.queue, Kind: core.Deref(change.kind)})
		if err != nil || n == 0 || isOver(there[0], now) {
			return false, nil, err
		}
		detail, err = pauseDetail{Ended: new(detailOf(there[0]))}.text()
		return true, detail, err
	})
}

// changeQueue makes a change of valid names and records it with its detail; it records a change without effect only if it has a detail.
// It reports whether the change had an effect.
func (c *Client) changeQueue(
	ctx context.Context, change queueChange,
	set func(_ context.Context, _ db.Querier, now int64, by *string) (changed bool, detail json.RawMessage, err error),
) (changed bool, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: %w", change, err)
		}
	}()
	author, err := audit.Of(ctx)
	if err = cmp.Or(err, change.validate()); err != nil {
		return false, err
	}
	err = lifecycle.ChangeQueue(ctx, c.scope(), core.WorkReady, change.queue, func(ctx context.Context, q db.Querier) error {
		made, detail, err := set(ctx, q, core.Micros(c.store.Now()), author.Name())
		if changed = made; err != nil || !made && detail == nil {
			return err
		}
		now := core.Micros(c.store.Now()) // set may have waited for another caller, whose entry is older
		return author.Record(ctx, q, now, audit.Entry{Action: change.action, Queue: change.queue, Kind: core.Deref(change.kind), Detail: detail})
	})
	return changed && err == nil, err
}
