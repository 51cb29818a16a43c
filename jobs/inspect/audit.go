package inspect

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// Action is a change, or a reading of encrypted errors, that the audit log records.
type Action = jobtype.Action

const (
	ActionEnqueue     = jobtype.ActionEnqueue     // added jobs
	ActionRetry       = jobtype.ActionRetry       // made jobs due now
	ActionCancel      = jobtype.ActionCancel      // ended jobs, or asked their workers to end them
	ActionUpdate      = jobtype.ActionUpdate      // changed jobs that had not started
	ActionDelete      = jobtype.ActionDelete      // removed jobs
	ActionSetLimit    = jobtype.ActionSetLimit    // set a limit of a kind
	ActionDeleteLimit = jobtype.ActionDeleteLimit // removed such a limit

	ActionResumeSequence = jobtype.ActionResumeSequence // let the jobs behind a failed one of a limit key go on

	ActionRekey      = jobtype.ActionRekey      // encrypted jobs with another key
	ActionForget     = jobtype.ActionForget     // erased the data in a user's jobs
	ActionPrune      = jobtype.ActionPrune      // removed jobs that ended long ago
	ActionPause      = jobtype.ActionPause      // stopped claims from a queue
	ActionResume     = jobtype.ActionResume     // allowed these claims again
	ActionPauseKind  = jobtype.ActionPauseKind  // stopped claims of a kind's jobs from a queue
	ActionResumeKind = jobtype.ActionResumeKind // allowed these claims again
	ActionMark       = jobtype.ActionMark       // marked fields of a kind as sensitive
	ActionUnmark     = jobtype.ActionUnmark     // removed such marks

	ActionRevealErrors = jobtype.ActionRevealErrors // read errors that are encrypted; changed nothing

	ActionSetRetention    = jobtype.ActionSetRetention    // set how long some ended jobs are kept
	ActionRemoveRetention = jobtype.ActionRemoveRetention // removed such a rule

	ActionSchedule       = jobtype.ActionSchedule       // added or replaced a schedule
	ActionPauseSchedule  = jobtype.ActionPauseSchedule  // stopped a schedule
	ActionResumeSchedule = jobtype.ActionResumeSchedule // resumed it
	ActionRunSchedule    = jobtype.ActionRunSchedule    // enqueued its job at once
	ActionDeleteSchedule = jobtype.ActionDeleteSchedule // removed it
)

// Actions returns all actions.
func Actions() []Action { return jobtype.Actions() }

// AuditEntry is a change that an actor made in one transaction. The action determines which fields are set.
type AuditEntry struct {
	ID     int64           `json:"id"`
	At     time.Time       `json:"at"`
	Actor  string          `json:"actor"`
	Action Action          `json:"action"`
	JobID  int64           `json:"job_id,omitempty"` // for a change of one job
	Kind   string          `json:"kind,omitempty"`
	Queue  string          `json:"queue,omitempty"`
	Jobs   int64           `json:"jobs"`              // number of changed jobs
	JobIDs []int64         `json:"job_ids,omitempty"` // for a change of up to 1000 jobs
	Detail json.RawMessage `json:"detail,omitempty"`  // an object, such as the filter that found the jobs: see [jobs.AuditDetail]
}

// AuditFilter selects the entries that Audit returns. Zero values do not filter.
type AuditFilter struct {
	Actor  string
	Action Action
	Job    int64 // changes of this job, alone or with others
	Since  time.Time
	After  int64 // entries older than the one with this id: the last id of the previous page
	Limit  int   // 100 when 0; at most MaxPage
}

// Audit returns the changes that actors made, newest first: see [jobs.WithActor]. Runners remove entries that are older than
// Audit of [jobs.Retention].
func (in *Inspector) Audit(ctx context.Context, f AuditFilter) ([]AuditEntry, error) {
	list, err := in.audit(ctx, f)
	return core.Result(list, err, "list changes")
}

// checkAction returns an error unless the action of a filter exists: an unknown one would match no entry.
func checkAction(a Action) error {
	if a == "" || slices.Contains(Actions(), a) {
		return nil
	}
	return jobtype.NewInvalidError("action", strconv.Quote(string(a)), fmt.Sprintf("be one of %q", Actions()))
}

func (in *Inspector) audit(ctx context.Context, f AuditFilter) ([]AuditEntry, error) {
	n, err := pageSize(f.Limit)
	err = cmp.Or(
		err,
		checkFilter("actor", f.Actor, jobs.MaxNameLength), checkAction(f.Action),
		checkCursor("cursor", f.After), checkCursor("job", f.Job),
	)
	if err != nil {
		return nil, err
	}
	params := db.ListAuditParams{
		BeforeID: cmp.Or(f.After, math.MaxInt64), Since: since(f.Since), Actor: core.Optional(f.Actor), Action: core.Optional(string(f.Action)), N: n,
	}
	var rows []db.JobAudit
	err = in.scope.Read(ctx, func(ctx context.Context, q db.Querier) error {
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
	return core.Map(rows, entryFromRow), err
}

func entryFromRow(r db.JobAudit) AuditEntry {
	return AuditEntry{
		ID: r.ID, At: core.Time(r.At), Actor: r.Actor, Action: Action(r.Action), JobID: core.Deref(r.JobID), Kind: core.Deref(r.Kind),
		Queue: core.Deref(r.Queue), Jobs: r.Jobs, JobIDs: idsFromColumn(r.JobIds), Detail: core.Raw(r.Detail),
	}
}

// idsFromColumn returns the ids of a JSON list, without elements that are no ids, which another program may have put there.
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

// listFromColumn returns the elements of a JSON list, and none of anything else.
func listFromColumn(s string) (list []json.RawMessage) {
	if err := json.Unmarshal([]byte(s), &list); err != nil {
		return nil
	}
	return list
}
