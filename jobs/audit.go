package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// Action is what somebody did.
type Action string

const (
	ActionEnqueue Action = "enqueue" // added jobs
	ActionRetry   Action = "retry"   // made jobs due now
	ActionCancel  Action = "cancel"  // ended jobs, or asked the workers that run them to
	ActionDelete  Action = "delete"  // removed jobs
	ActionPrune   Action = "prune"   // removed jobs that ended long ago
	ActionPause   Action = "pause"   // stopped claims from a queue
	ActionResume  Action = "resume"  // allowed them again
	ActionMark    Action = "mark"    // marked fields of a kind as sensitive
	ActionUnmark  Action = "unmark"  // took such marks away
)

// AuditEntry is what somebody changed in one transaction. Which fields are set depends on the action.
type AuditEntry struct {
	ID     int64           `json:"id"`
	At     time.Time       `json:"at"`
	Actor  string          `json:"actor"`
	Action Action          `json:"action"`
	JobID  int64           `json:"job_id,omitempty"` // of a change of one job
	Kind   string          `json:"kind,omitempty"`
	Queue  string          `json:"queue,omitempty"`
	Jobs   int64           `json:"jobs"`              // how many were changed
	JobIDs []int64         `json:"job_ids,omitempty"` // of a change of many, up to 1000
	Detail json.RawMessage `json:"detail,omitempty"`  // an object: which filter found the jobs, and the like
}

// AuditFilter says which entries Audit returns. Zero values do not filter.
type AuditFilter struct {
	Actor  string
	Action Action
	Job    int64 // changes of this job, alone or with others
	Since  time.Time
	After  int64 // entries before the one with this id: the last id of the page before
	Limit  int   // 100 when 0; at most MaxPage
}

// Audit returns what people changed, newest first: see [WithActor]. Runners remove entries when [Retention.Audit] is over.
func (c *Client) Audit(ctx context.Context, f AuditFilter) ([]AuditEntry, error) {
	list, err := c.audit(ctx, f)
	if err != nil {
		return nil, fmt.Errorf("list changes: %w", err)
	}
	return list, nil
}

func (c *Client) audit(ctx context.Context, f AuditFilter) ([]AuditEntry, error) {
	n, err := page(f.Limit)
	if err != nil {
		return nil, err
	}
	if err := validateFilter("actor", f.Actor, MaxNameLength); err != nil {
		return nil, err
	}
	if err := validateFilter("action", string(f.Action), MaxNameLength); err != nil {
		return nil, err
	}
	if f.After < 0 {
		return nil, jobtype.NewInvalidError("cursor", fmt.Sprint(f.After), "not be negative")
	}
	if f.Job < 0 {
		return nil, jobtype.NewInvalidError("job", fmt.Sprint(f.Job), "not be negative")
	}
	before := f.After
	if before == 0 {
		before = math.MaxInt64
	}
	params := db.ListAuditParams{
		BeforeID: before, Since: since(f.Since), Actor: core.Optional(f.Actor), Action: core.Optional(string(f.Action)), N: n,
	}
	var rows []db.JobAudit
	err = c.read(ctx, func(ctx context.Context, q db.Querier) error {
		var err error
		if f.Job == 0 {
			rows, err = q.ListAudit(ctx, params)
			return err
		}
		rows, err = q.ListAuditOfJob(ctx, db.ListAuditOfJobParams{
			BeforeID: params.BeforeID, Since: params.Since, JobID: f.Job, Actor: params.Actor, Action: params.Action, N: n,
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	list := make([]AuditEntry, len(rows))
	for i, row := range rows {
		list[i] = entryFromRow(row)
	}
	return list, nil
}

func entryFromRow(r db.JobAudit) AuditEntry {
	return AuditEntry{
		ID: r.ID, At: core.Time(r.At), Actor: r.Actor, Action: Action(r.Action), JobID: core.Deref(r.JobID), Kind: core.Deref(r.Kind),
		Queue: core.Deref(r.Queue), Jobs: r.Jobs, JobIDs: idsFromColumn(r.JobIds), Detail: core.Raw(r.Detail),
	}
}

// idsFromColumn returns the ids of a JSON list. It leaves out what another program put there and is no id.
func idsFromColumn(s *string) (ids []int64) {
	if s == nil {
		return nil
	}
	for _, element := range listFromColumn(*s) {
		if id, err := strconv.ParseInt(string(element), 10, 64); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// listFromColumn returns the elements of a JSON list, and none of what is not a list.
func listFromColumn(s string) (list []json.RawMessage) {
	if err := json.Unmarshal([]byte(s), &list); err != nil {
		return nil
	}
	return list
}
