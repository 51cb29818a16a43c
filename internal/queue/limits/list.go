package limits

import (
	"context"
	"fmt"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// List returns the limits in force, set and declared ones: of kinds by kind and key, then of queues, then of whole kinds.
func List(ctx context.Context, scope *engine.Scope) ([]jobtype.LimitInfo, error) {
	rows, err := core.Value(ctx, scope.Read, func(ctx context.Context, q db.Querier) ([]db.ListLimitsRow, error) { return q.ListLimits(ctx) })
	if err != nil {
		return nil, fmt.Errorf("list the limits: %w", err)
	}
	list := make([]jobtype.LimitInfo, 0, len(rows))
	for i, r := range rows {
		if i > 0 && rows[i-1].Scope == r.Scope && rows[i-1].Name == r.Name && rows[i-1].LimitKey == r.LimitKey {
			continue // the declared one, in whose place another is set
		}
		list = append(list, info(r))
	}
	return list, nil
}

func info(r db.ListLimitsRow) jobtype.LimitInfo {
	i := jobtype.LimitInfo{
		Key: r.LimitKey, Total: r.Scope == core.ScopeTotal, Declared: r.SetAt == 0, SetAt: core.Time(r.SetAt),
		RunningJobs: int(r.Active), WaitingJobs: int(r.Waiting),
		LimitValues: jobtype.LimitValues{
			Running: int(r.Running), Rate: jobtype.Rate{Starts: int(r.Starts), Period: core.Duration(r.Period)}, Burst: int(r.Burst), Weight: int(r.Weight),
			Depth: int(r.Depth), Ordered: r.Ordered != "", OnFail: jobtype.OnFail(r.Ordered),
		},
	}
	if r.Depth > 0 {
		i.OnFull = jobtype.OnFull(r.OnFull)
	}
	if r.Scope == core.ScopeQueue {
		i.Queue = r.Name
	} else {
		i.Kind = r.Name
	}
	return i
}
