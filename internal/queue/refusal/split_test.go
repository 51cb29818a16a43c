package refusal

import (
	"errors"
	"slices"
	"testing"
)

var errRefused = errors.New("refused")

// All items except the refused ones are done, whichever are refused, and one call does all where none is.
func TestSplit(t *testing.T) {
	for _, test := range []struct{ items, refused []int }{
		{nil, nil},
		{[]int{1}, nil},
		{[]int{1}, []int{1}},
		{[]int{1, 2, 3, 4, 5}, nil},
		{[]int{1, 2, 3, 4, 5}, []int{1, 5}},
		{[]int{1, 2, 3, 4, 5}, []int{3}},
		{[]int{1, 2, 3}, []int{1, 2, 3}},
	} {
		var done, postponed []int
		calls := 0
		err := Split(test.items, func(err error) bool { return errors.Is(err, errRefused) }, func(part []int) error {
			calls++
			for _, item := range part {
				if slices.Contains(test.refused, item) {
					return errRefused
				}
			}
			done = append(done, part...)
			return nil
		}, func(item int, err error) error {
			postponed = append(postponed, item)
			return nil
		})
		if err != nil || len(done)+len(postponed) != len(test.items) || !slices.Equal(postponed, test.refused) || len(test.refused) == 0 && calls > 1 {
			t.Errorf("%v: done %v, postponed %v after %d calls, %v", test, done, postponed, calls, err)
		}
	}
}

// Another fault ends it at once.
func TestApartEnds(t *testing.T) {
	broken, calls := errors.New("broken"), 0
	err := Split([]int{1, 2, 3, 4}, func(err error) bool { return errors.Is(err, errRefused) }, func(part []int) error {
		if calls++; calls == 2 {
			return broken
		}
		return errRefused
	}, func(int, error) error { return nil })
	if !errors.Is(err, broken) || calls != 2 {
		t.Errorf("%v after %d calls", err, calls)
	}
}
