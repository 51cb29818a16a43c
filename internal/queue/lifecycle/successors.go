package lifecycle

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// releaseSuccessors is the reaction that releases the successors of jobs that ended. The successor of a job that people delete is released
// at the next look of a worker, as after a DELETE of plain SQL. It runs no statement when none of the jobs had a key.
func releaseSuccessors(ctx context.Context, q db.Querier, now int64, t *Transitions, made []repeated) error {
	var keys [][2]string
	for _, m := range made {
		ended := m.To.Final() || m.To == StatusRemoved && (m.From == jobtype.StatusRunning || m.From == StatusRemoved)
		if ended && m.Job.UniqueKey != "" && !t.HoldSuccessors {
			keys = append(keys, [2]string{m.Job.Kind, m.Job.UniqueKey})
		}
	}
	if len(keys) == 0 {
		return nil
	}
	n, err := Release(ctx, q, now, keys)
	t.released += n
	return err
}

// Release releases the successors with these unique keys, each given as its kind and the key, unless another live job has the key. It
// returns their number.
func Release(ctx context.Context, q db.Querier, now int64, keys [][2]string) (int64, error) {
	list, err := json.Marshal(keys)
	if err != nil {
		return 0, err
	}
	n, err := q.ReleaseSuccessors(ctx, db.ReleaseSuccessorsParams{Now: now, SetBack: now + longestWait.Microseconds(), Keys: string(list)})
	if err != nil {
		return 0, fmt.Errorf("release the successors of jobs with unique keys: %w", err)
	}
	return n, nil
}
