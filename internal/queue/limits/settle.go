package limits

import (
	"context"
	"maps"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
)

// settlement holds what a claim writes after its starts.
type settlement struct {
	spent [][4]any // the scope, name and key of each limit with a rate, and until when its starts have used that up
	lanes [][4]any // the kind and key of each lane, when it is ready again, and whether it is held
	set   *int64   // the number of these lanes with a waiting job
}

// calls returns the calls that write the settlement.
func (s settlement) calls(queue string) (calls []db.Call) {
	if len(s.spent) > 0 {
		calls = append(calls, db.SpendStartsCall{Arg: core.JSONList(s.spent)})
	}
	if len(s.lanes) > 0 {
		calls = append(calls, db.SetLanesCall{Arg: db.SetLanesParams{Queue: queue, Items: core.JSONList(s.lanes)}, Into: s.set})
	}
	return calls
}

// settle counts the starts of lanes, and returns what the claim writes after them. It writes the starts of all these lanes, 0 too. A lane that
// only the limit of its whole kind or queue has held stays as it is, and keeps its place among the ready ones. filled: the claim has no slot
// left.
func (d *deal) settle(started map[key]int64, c *claimer, filled bool) settlement {
	s := settlement{spent: d.spend(started, c.now), set: new(int64)}
	for _, l := range d.lanes {
		if of := d.states[l]; of.started > 0 || of.room == 0 {
			at, held := of.nextLook(d.shares[l], c.now)
			if at == nil && held == 0 && filled && of.started > 0 && c.quick[l.kind] {
				at = new(c.now) // mostly its jobs have ended when its turn comes, and no end must make it ready; else a claim parks it
			}
			s.lanes = append(s.lanes, [4]any{l.kind, l.key, at, held})
		}
	}
	return s
}

// spend counts the starts of keys, and of whole kinds and queues, and returns those of limits with a rate.
func (d *deal) spend(started map[key]int64, now int64) (spent [][4]any) {
	whole := map[*state]int64{}
	for lane, n := range started {
		if until := d.states[lane].spend(now, n); until > 0 {
			spent = append(spent, [4]any{core.ScopeKind, lane.kind, lane.key, until})
		}
		for _, s := range d.wholes.of(lane.kind, d.queue) {
			whole[s] += n
		}
	}
	for of, s := range d.wholes {
		n, touched := whole[s]
		if !touched {
			continue
		}
		if until := s.spend(now, n); until > 0 {
			spent = append(spent, [4]any{of.Scope, of.Name, "", until})
		}
	}
	return spent
}

// startsAgain is the time after which a claim looks again at a lane that had room and no job that could start.
const startsAgain = int64(100 * time.Millisecond / time.Microsecond)

// nextLook returns when a claim looks at a lane again, nil: at the end of a job, and 1 if its sequence is held. left is the rest of its share.
func (s *state) nextLook(left, now int64) (at *int64, held int) {
	at = s.readyAt(now)
	switch {
	case s.held:
		return nil, 1
	case left > 0 && left == s.started && at != nil: // its jobs are locked or set aside
		*at = max(*at, now+startsAgain)
		if s.first != 0 {
			held = 1
		}
	}
	return at, held
}

// removeEmpty removes lanes without a waiting job, if the settlement has found one.
func (c *claimer) removeEmpty(ctx context.Context, d *deal, s settlement) error {
	if int(*s.set) == len(d.lanes) { // all have a waiting job
		return nil
	}
	_, err := c.q.DeleteEmptyLanes(ctx, db.DeleteEmptyLanesParams{Queue: c.queue, Keys: keys(d.lanes)})
	return core.Wrap(err, "remove empty lanes")
}

// copy returns a copy with limits of its own.
func (d *deal) copy() *deal {
	c := *d
	c.states, c.wholes, c.shares = make(map[key]*state, len(d.states)), make(wholes, len(d.wholes)), maps.Clone(d.shares)
	for of, s := range d.states {
		c.states[of] = new(*s)
	}
	for of, s := range d.wholes {
		c.wholes[of] = new(*s)
	}
	return &c
}

// takeAll takes all shares, and returns them.
func (d *deal) takeAll() map[key]int64 {
	taken := d.shares
	d.shares = map[key]int64{}
	return taken
}

// become takes over the limits of a copy.
func (d *deal) become(c *deal) {
	for of, s := range c.states {
		*d.states[of] = *s
	}
	for of, s := range c.wholes {
		*d.wholes[of] = *s
	}
}
