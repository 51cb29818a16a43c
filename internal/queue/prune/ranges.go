package prune

import (
	"time"

	"github.com/sqluice/sqluice/internal/queue/core"
)

// maxRanges is the largest number of ranges that are remembered. Beyond it each range is joined with the next.
const maxRanges = 4096

// ranges holds ranges of ids, without a gap between them, and for each the time when the first of its jobs may be removed.
type ranges []idRange

// idRange is the range of ids after the range before it, up to and including last.
type idRange struct {
	last  int64
	again time.Time // the time when the first of its jobs may be removed
	empty bool      // none of its jobs can ever be removed
}

// add appends a range. It joins a range without jobs with a range without jobs before it.
func (r ranges) add(next idRange) ranges {
	if n := len(r); next.empty && n > 0 && r[n-1].empty {
		r[n-1].last = next.last
		r[n-1].again = core.Earlier(r[n-1].again, next.again)
		return r
	}
	return append(r, next)
}

// bounded joins neighbouring ranges until their number is within the bound.
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
