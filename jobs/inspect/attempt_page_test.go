package inspect

import (
	"slices"
	"testing"
)

func TestUnrecorded(t *testing.T) {
	type ranges = []AttemptRange
	for _, test := range []struct {
		first, last int
		errors      []int // the attempts that failed
		want        ranges
	}{
		{1, 0, nil, nil},
		{1, 0, []int{0}, nil}, // it was not started in time
		{1, 3, nil, ranges{{1, 3}}},
		{1, 3, []int{1, 2, 3}, nil},
		{1, 3, []int{2}, ranges{{1, 1}, {3, 3}}},
		{1, 6, []int{3, 3, 4}, ranges{{1, 2}, {5, 6}}},
		{1, 2, []int{3}, ranges{{1, 2}}}, // the third one is the job's last, and failed
		{1, 2, []int{5}, ranges{{1, 2}}},
		{4, 6, []int{3, 5}, ranges{{4, 4}, {6, 6}}},
		{1, 3, []int{0, 2}, ranges{{1, 1}, {3, 3}}},
	} {
		var list []AttemptEnd
		for _, n := range test.errors {
			list = append(list, AttemptEnd{Attempt: n})
		}
		if have := unrecorded(test.first, test.last, list); !slices.Equal(have, test.want) {
			t.Errorf("%+v: %v", test, have)
		}
	}
}
