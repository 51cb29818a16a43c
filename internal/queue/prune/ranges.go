package prune

import (
	"time"

	"github.com/sqluice/sqluice/internal/queue/core"
)

// maxRanges bounds how many ranges are remembered. Beyond it each becomes one with the next.
const maxRanges = 4096

// ranges are the jobs up to an id of which it is known when the next of them may go: ranges of ids without a gap between them.
type ranges []idRange

// idRange is the ids after the range before it and up to last.
type idRange struct {
	last  int64
	again time.Time // when the first of its jobs may go
	empty bool      // it has none that ever may
}

// add puts a range at the end. What has no jobs becomes one with what has none before it.
func (r ranges) add(next idRange) ranges {
	if n := len(r); next.empty && n > 0 && r[n-1].empty {
		r[n-1].last = next.last
		r[n-1].again = core.Earlier(r[n-1].again, next.again)
		return r
	}
	return append(r, next)
}

// bounded makes one of each two ranges while there are too many.
func (r ranges) bounded() ranges {
	for len(r) > maxRanges {
		half := r[:0]
		for i := 0; i < len(r); i += 2 {
			one := r[i]
			if i+1 < len(r) {
				one = idRange{r[i+1].last, core.Earlier(one.again, r[i+1].again), one.empty && r[i+1].empty}
			}
			half = append(half, one)
		}
		r = half
	}
	return r
}
