package lifecycle

import (
	"context"
	"testing"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/engine"
)

// laneRows answers the statements of LaneMender.Open: all keys have room.
type laneRows struct {
	db.Querier
	parked []db.ListParkedLanesRow
	woken  string // the keys of WakeLanes
}

func (r *laneRows) ListParkedLanes(context.Context, db.ListParkedLanesParams) ([]db.ListParkedLanesRow, error) {
	return r.parked, nil
}

func (*laneRows) ReadLimits(_ context.Context, keys string) ([]db.ReadLimitsRow, error) {
	return []db.ReadLimitsRow{{Kind: "k", LimitKey: "a", Running: 1}, {Kind: "k", LimitKey: "b", Running: 1}}, nil
}

func (*laneRows) LockLanes(context.Context, string) ([]db.LockLanesRow, error) { return nil, nil }

func (r *laneRows) WakeLanes(_ context.Context, arg db.WakeLanesParams) (int64, error) {
	r.woken = arg.Keys
	return int64(len(r.parked)), nil
}

// Lanes that an end has made ready between the look and the locks are left alone, and so are others of their keys.
func TestOpenLeavesLanesThatAreReadyByNow(t *testing.T) {
	lanes := []db.ListParkedLanesRow{{Kind: "k", LimitKey: "a", Queue: "q"}, {Kind: "k", LimitKey: "b", Queue: "q"}}
	other := db.ListParkedLanesRow{Kind: "k", LimitKey: "a", Queue: "r"} // parked since the look
	for _, c := range []struct {
		parked []db.ListParkedLanesRow
		opened int64
		woken  string
	}{
		{[]db.ListParkedLanesRow{lanes[0], lanes[1]}, 2, `{"k":["a","b"]}`},
		{[]db.ListParkedLanesRow{lanes[1]}, 1, `{"k":["b"]}`},
		{[]db.ListParkedLanesRow{other}, 0, ""},
		{nil, 0, ""},
	} {
		before, after := &laneRows{parked: lanes}, &laneRows{parked: c.parked}
		m := LaneMender{
			Read:  func(ctx context.Context, fn engine.Func) error { return fn(ctx, before) },
			Write: func(ctx context.Context, fn engine.Func) error { return fn(ctx, after) },
			Now:   time.Now,
		}
		_, opened, err := m.Open(t.Context(), LaneName{}, 10)
		if err != nil || opened != c.opened || after.woken != c.woken {
			t.Errorf("with %v parked: %d lanes of %s are opened, and %v", c.parked, opened, after.woken, err)
		}
	}
}
