package human

import (
	"slices"
	"testing"
)

func TestBusiest(t *testing.T) {
	list := []int64{5, 1, 9, 5, 7}
	for most, want := range map[int][2][]int64{
		0: {nil, list}, 1: {{9}, {5, 1, 5, 7}}, 3: {{5, 9, 7}, {1, 5}}, 5: {list, nil}, 9: {list, nil},
	} {
		shown, rest := Busiest(list, most, func(n int64) int64 { return n })
		if !slices.Equal(shown, want[0]) || !slices.Equal(rest, want[1]) {
			t.Errorf("of %v the %d busiest are %v, and %v are left", list, most, shown, rest)
		}
	}
}
