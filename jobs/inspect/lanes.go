package inspect

import (
	"context"
	"fmt"

	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
)

// Lanes counts the lanes that [Inspector.RecountLanes] mended. A lane is a row for the waiting jobs of a kind, a limit key and a queue.
type Lanes struct {
	Added   int64 `json:"added"`   // jobs waited, and had none
	Opened  int64 `json:"opened"`  // they waited for the end of a job, although their limits had room
	Removed int64 `json:"removed"` // no job waited; claims remove such lanes as well, when they look at them
}

// lanesPage is the number of lanes that one step of a recount reads.
const lanesPage = 1000

// RecountLanes reads the lanes of all limit keys, and mends the wrong ones. It is needed only after SQL other than the library's has changed
// jobs with limit keys, and when no worker runs: workers do the same, within a second or a minute. It works in steps of a thousand lanes,
// each a short transaction, so an error half-way leaves some of them mended.
func (in *Inspector) RecountLanes(ctx context.Context) (found Lanes, err error) {
	mender := lifecycle.LaneMender{
		Read: in.scope.Read, Now: in.scope.Now,
		Write: func(ctx context.Context, fn engine.Func) error { return in.scope.Write(ctx, core.WorkReady, fn) },
	}
	for _, step := range []struct {
		mend func(context.Context, lifecycle.LaneName, int64) (lifecycle.LaneName, int64, error)
		sum  *int64
	}{{mender.Add, &found.Added}, {mender.Open, &found.Opened}, {mender.Remove, &found.Removed}} {
		for last := (lifecycle.LaneName{}); ; {
			var n int64
			if last, n, err = step.mend(ctx, last, lanesPage); err != nil {
				return found, fmt.Errorf("recount lanes: %w", err)
			}
			if *step.sum += n; last == (lifecycle.LaneName{}) {
				break
			}
		}
	}
	return found, in.confirm(ctx)
}
