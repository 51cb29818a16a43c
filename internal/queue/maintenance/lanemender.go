package maintenance

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/internal/queue/outage"
	"github.com/sqluice/sqluice/internal/queue/schedule"
)

const (
	// laneLook is the interval of the looks for waiting jobs without a lane, and for lanes that are ready late.
	laneLook = time.Minute

	// lanesMost is the largest number of lanes that one look reads.
	lanesMost = 500
)

// laneMender makes lanes ready that nothing else would: of keys whose jobs plain SQL, or CompleteTx, has ended, and of limits that a new
// program declares. It does so once a second. Once a minute it also adds lanes that waiting jobs lack, because plain SQL has made them
// waiting, and has lanes looked at that are ready late. One goroutine uses it.
type laneMender struct {
	store         engine.Store
	log           *slog.Logger
	lanes         lifecycle.LaneMender
	parked, added lifecycle.LaneName // the lanes after which the next looks go on
	looked        time.Time          // the last look of a minute, by the process's clock
	isParked      bool               // the last look has found a lane that waits for an end
	failed        *outage.Outage
}

func newLaneMender(u *Upkeep) *laneMender {
	return &laneMender{
		store: u.Store, log: u.Log, lanes: lifecycle.LaneMender{Read: u.Store.Read, Write: u.Store.Write, Now: u.Store.Now}, failed: outage.New(u.Log),
	}
}

func (*laneMender) name() string { return "mending the lanes of limits" }

func (m *laneMender) due(work db.GetScheduleWorkRow, _ int64) bool {
	m.isParked = work.Parked != 0
	return m.isParked || m.minuteOver()
}

func (*laneMender) next(db.GetScheduleWorkRow) []int64 { return nil }

// minuteOver reports whether the looks of a minute are due.
func (m *laneMender) minuteOver() bool { return m.looked.IsZero() || time.Since(m.looked) >= laneLook }

// settle implements tolerant: the next look tries again.
func (m *laneMender) settle(err error, _ time.Time) error {
	note(m.failed, err, "the lanes of limits are mended again", m.name()+" failed; trying again")
	return nil
}

// run mends a page of lanes. A failure of one mending stops no other. The error is the first one.
func (m *laneMender) run(ctx context.Context, w schedule.Watch) error {
	var opened, added, hastened int64
	var failed [3]error
	if m.isParked {
		m.parked, opened, failed[0] = m.lanes.Open(ctx, m.parked, lanesMost)
	}
	if m.minuteOver() {
		m.added, added, failed[1] = m.lanes.Add(ctx, m.added, lanesMost)
		hastened, failed[2] = m.lanes.Hasten(ctx, w.Now.Add(laneLook), lanesMost)
		m.looked = time.Now()
	}
	if opened+added > 0 {
		m.log.Info("mended lanes of limits", "opened", opened, "added", added)
	}
	if opened+added+hastened > 0 {
		m.store.Announce(core.WorkReady)
	}
	return cmp.Or(failed[0], failed[1], failed[2])
}
