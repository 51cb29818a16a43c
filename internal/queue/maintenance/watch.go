package maintenance

import (
	"time"

	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/schedule"
)

const (
	// watchGap is the longest pause between two looks for due schedules: ticks during a longer one count as missed.
	watchGap = 10 * time.Second

	// watchJudge is the time for which a scheduler leaves missed ticks to others that have looked for longer.
	watchJudge = 2 * time.Second
)

// watch holds the time since which a process has looked for due schedules all the time.
type watch struct {
	store        engine.Store
	since, judge time.Time // the times by the clock of due times: see schedule.Watch
	looked       time.Time // the last look, by the process's clock
	clock        time.Time // the clock of due times at looked
}

// begin returns the knowledge of the time before now. There is none after the process stood still or could not look, and after a clock
// was set. The caller calls looked after a look without an error.
func (k *watch) begin() (w schedule.Watch, looked func()) {
	at, now := time.Now(), k.store.Now()
	passed := at.Sub(k.looked)
	jumped := passed > watchGap || (now.Sub(k.clock)-passed).Abs() > upkeepLook
	if k.since.IsZero() || jumped && !engine.ClockStands(k.store) {
		k.since, k.judge = now, now.Add(watchJudge)
		k.looked, k.clock = at, now
	}
	return schedule.Watch{Now: now, Since: k.since, DeferUntil: k.judge}, func() { k.looked, k.clock = at, now }
}
