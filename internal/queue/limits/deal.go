package limits

import (
	"context"

	"github.com/sqluice/sqluice/db"
)

// dealing holds the lanes of a queue among which starts are dealt, the best first, and the limits of their kinds and queue.
type dealing struct {
	lanes  []key
	queue  string
	wholes wholes
	rounds int   // the largest number of rounds: other lanes may be ready; 0: any number
	least  int64 // with rounds the lowest priority of jobs that start
}

// deal is the room of limits, dealt to lanes in rounds by their weights.
type deal struct {
	dealing
	states map[key]*state
	shares map[key]int64
}

// newDeal deals up to n starts to lanes, by the limits of their keys.
func newDeal(ctx context.Context, q db.Querier, of dealing, limits []db.ReadLimitsRow, now, n int64) (*deal, error) {
	d := &deal{of, make(map[key]*state, len(limits)), make(map[key]int64, len(of.lanes))}
	for _, row := range limits {
		d.states[key{row.Kind, row.LimitKey}] = ofKey(row, now)
	}
	if err := d.readSequences(ctx, q, limits); err != nil {
		return nil, err
	}
	for round := 1; n > 0; round++ {
		left := n
		for _, lane := range of.lanes {
			for i := int64(0); i < d.states[lane].weight && n > 0 && d.give(lane); i++ {
				n--
			}
		}
		if n == left || round == of.rounds {
			break
		}
	}
	return d, nil
}

// give gives a lane one start, if all its limits have room.
func (d *deal) give(lane key) bool {
	s := d.states[lane]
	if !s.has() || !d.wholes.has(lane.kind, d.queue) {
		return false
	}
	s.started++
	for _, w := range d.wholes.of(lane.kind, d.queue) {
		w.started++
	}
	d.shares[lane]++
	return true
}

// most returns the largest share.
func (d *deal) most() (most int64) {
	for _, n := range d.shares {
		most = max(most, n)
	}
	return most
}

// total returns the sum of the shares.
func (d *deal) total() (total int64) {
	for _, n := range d.shares {
		total += n
	}
	return total
}

// take takes one job of a lane's share.
func (d *deal) take(lane key) bool {
	if d.shares[lane] == 0 {
		return false
	}
	d.shares[lane]--
	return true
}
