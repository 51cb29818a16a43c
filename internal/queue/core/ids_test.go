package core

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestIDRangesHoldEachIDOnce(t *testing.T) {
	const least = 8
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var ids []int64
		for next := int64(1); len(ids) < random.IntN(60); next++ {
			if random.IntN(10) > 0 {
				ids = append(ids, next)
			}
		}
		want := slices.Clone(ids)
		if len(ids) > 0 {
			ids = append(ids, ids[random.IntN(len(ids))]) // twice
		}
		random.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
		ranges, got := IDRanges(ids, least)
		got = slices.Clone(got)
		for _, r := range ranges {
			if r.Last-r.First+1 < least {
				t.Fatalf("a range of %d ids: %v", r.Last-r.First+1, r)
			}
			for id := r.First; id <= r.Last; id++ {
				got = append(got, id)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Fatalf("of %v the ranges %v and the rest hold %v", want, ranges, got)
		}
	}
}
