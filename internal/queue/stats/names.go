package stats

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
)

const (
	// NamesMost is the default number of queues, of kinds, and of pairs of the two that have rows of their own in a step of the
	// history.
	NamesMost = 500

	// Other stands for all further names, as in the metrics.
	Other = "_other"
)

// Names bounds the rows of the history, since any program that may enqueue chooses the names of queues and kinds. In each step of
// [CoarseStep], and the shorter ones in it, the names that came first have rows; of names that come together, the ones with the most
// jobs. One goroutine uses it.
type Names struct {
	Most  int
	known map[int64]map[name]bool // the names in the database, by the step's beginning
}

// name is a queue, a kind, or a pair of them; an empty part stands for all.
type name struct{ queue, kind string }

// sort returns which of the three sorts a name belongs to: each sort has its own bound.
func (n name) sort() [2]bool { return [2]bool{n.queue != "", n.kind != ""} }

// other returns the name that replaces names of this sort beyond the bound.
func (n name) other() name {
	if n.queue != "" {
		n.queue = Other
	}
	if n.kind != "" {
		n.kind = Other
	}
	return n
}

// bound returns the cells with Other in place of the names beyond the bound.
func (b *Names) bound(ctx context.Context, q db.Querier, cells map[cell]int64) (map[cell]int64, error) {
	sums := map[int64]map[name]int64{}
	for key, n := range cells {
		start := coarse(key)
		if sums[start] == nil {
			sums[start] = map[name]int64{}
		}
		sums[start][name{key.queue, key.kind}] += n
	}
	maps.DeleteFunc(b.known, func(start int64, _ map[name]bool) bool { return sums[start] == nil })
	for start, names := range sums {
		if err := b.admit(ctx, q, start, names); err != nil {
			return nil, err
		}
	}
	bounded := make(map[cell]int64, len(cells))
	for key, n := range cells {
		if of := (name{key.queue, key.kind}); !b.known[coarse(key)][of] {
			key.queue, key.kind = of.other().queue, of.other().kind
		}
		bounded[key] += n
	}
	return bounded, nil
}

// coarse returns the beginning of the step of CoarseStep that contains the cell, in microseconds.
func coarse(key cell) int64 { return core.Micros(key.start.Truncate(CoarseStep)) }

// admit adds names to a step as far as there is room. It asks the database, to which other processes add names, only when there
// seems to be room for an unknown name.
func (b *Names) admit(ctx context.Context, q db.Querier, start int64, names map[name]int64) error {
	if len(fresh(b.known[start], names, b.room(start))) == 0 {
		return nil
	}
	rows, err := q.ListHistoryNames(ctx, db.ListHistoryNamesParams{Step: CoarseStep.Microseconds(), StartAt: start})
	if err != nil {
		return err
	}
	known := map[name]bool{}
	for _, row := range rows {
		known[name{row.Queue, row.Kind}] = true
	}
	if b.known == nil {
		b.known = map[int64]map[name]bool{}
	}
	b.known[start] = known
	room := b.room(start)
	for _, n := range fresh(known, names, room) {
		if room[n.sort()] > 0 {
			known[n] = true
			room[n.sort()]--
		}
	}
	return nil
}

// room returns the number of further names of each sort that a step has room for.
func (b *Names) room(start int64) map[[2]bool]int {
	room := map[[2]bool]int{{true, true}: b.Most, {true, false}: b.Most, {false, true}: b.Most}
	for n := range b.known[start] {
		if n != n.other() {
			room[n.sort()]--
		}
	}
	return room
}

// fresh returns the unknown names of the sorts that have room, in descending order of their jobs.
func fresh(known map[name]bool, names map[name]int64, room map[[2]bool]int) (list []name) {
	for n := range names {
		if !known[n] && n != n.other() && room[n.sort()] > 0 {
			list = append(list, n)
		}
	}
	slices.SortFunc(list, func(x, y name) int {
		return cmp.Or(cmp.Compare(names[y], names[x]), cmp.Compare(x.queue, y.queue), cmp.Compare(x.kind, y.kind))
	})
	return list
}
