package jobrow

import (
	"encoding/json"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// Of returns the job of a whole row.
func Of(r db.Job) jobtype.Job {
	runAfter := r.RunAfter
	if r.SuccessorAt != nil {
		runAfter = *r.SuccessorAt
	}
	return jobtype.Job{
		ID: r.ID, Kind: r.Kind, Queue: r.Queue, Payload: core.JSON(r.Payload), Status: jobtype.Status(r.Status),
		Priority: int(r.Priority), RunAfter: core.Time(runAfter), StartBy: core.Time(core.Deref(r.StartBy)),
		Attempt: int(r.Attempt), Uncounted: int(r.Uncounted), MaxAttempts: int(r.MaxAttempts), Crashes: int(r.Crashes),
		Timeout: core.Duration(r.Timeout), UniqueKey: core.Deref(r.UniqueKey), RequestID: core.Deref(r.RequestID),
		Successor: r.SuccessorAt != nil, LimitKey: r.LimitKey,
		UserID: core.Deref(r.UserID), Tags: core.Tags(r.Tags), Metadata: core.Raw(r.Metadata),
		Progress: core.Raw(r.Progress), Result: core.Raw(r.Result), LastError: core.Deref(r.LastError),
		WorkerID: core.Deref(r.WorkerID), LeaseUntil: core.Time(core.Deref(r.LeaseUntil)),
		CancelRequested: core.Time(core.Deref(r.CancelRequestedAt)), CreatedAt: core.Time(r.CreatedAt),
		StartedAt: core.Time(core.Deref(r.StartedAt)), FinishedAt: core.Time(core.Deref(r.FinishedAt)),
		UpdatedAt: core.Time(r.UpdatedAt),
	}
}

// OfLane returns the row of a job that was claimed from a lane as other claims return it, without the limit key.
func OfLane(r *db.StartWaitingJobsRow) db.ClaimJobsRow {
	return db.ClaimJobsRow{
		ID: r.ID, Kind: r.Kind, Payload: r.Payload, Priority: r.Priority, RunAfter: r.RunAfter, StartBy: r.StartBy,
		Attempt: r.Attempt, Uncounted: r.Uncounted, MaxAttempts: r.MaxAttempts, Crashes: r.Crashes, Timeout: r.Timeout,
		UniqueKey: r.UniqueKey, RequestID: r.RequestID, UserID: r.UserID, Tags: r.Tags, Metadata: r.Metadata, CreatedAt: r.CreatedAt,
	}
}

// Claimed returns the job of a row that a worker has claimed from a queue. started and lease are the claim's time and the end
// of its lease.
func Claimed(r db.ClaimJobsRow, queue string, worker int64, started, lease time.Time) jobtype.Job {
	return jobtype.Job{
		ID: r.ID, Kind: r.Kind, Queue: queue, Payload: json.RawMessage(r.Payload), Status: jobtype.StatusRunning,
		Priority: int(r.Priority), RunAfter: core.Time(r.RunAfter), StartBy: core.Time(core.Deref(r.StartBy)),
		Attempt: int(r.Attempt), Uncounted: int(r.Uncounted), MaxAttempts: int(r.MaxAttempts), Crashes: int(r.Crashes),
		Timeout: core.Duration(r.Timeout), UniqueKey: core.Deref(r.UniqueKey), RequestID: core.Deref(r.RequestID),
		UserID: core.Deref(r.UserID), Tags: core.Tags(r.Tags), Metadata: core.Raw(r.Metadata),
		WorkerID: worker, LeaseUntil: lease, CreatedAt: core.Time(r.CreatedAt), StartedAt: started, UpdatedAt: started,
	}
}

// Requested returns the job that an insert will add: without an id, a payload and a status.
func Requested(p db.EnqueueJobParams) jobtype.Job {
	return jobtype.Job{
		Kind: p.Kind, Queue: p.Queue, Priority: int(p.Priority), RunAfter: core.Time(p.RunAfter), StartBy: core.Time(core.Deref(p.StartBy)), MaxAttempts: int(p.MaxAttempts),
		Timeout: core.Duration(p.Timeout), UniqueKey: core.Deref(p.UniqueKey), RequestID: core.Deref(p.RequestID),
		UserID: core.Deref(p.UserID), Tags: core.Tags(p.Tags), Metadata: core.Raw(p.Metadata), LimitKey: p.LimitKey,
	}
}
