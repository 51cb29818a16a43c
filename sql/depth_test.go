package sql_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// Every JSON column accepts a value that is nested 1,000 levels deep, and no deeper one: SQLite's JSON functions stop there.
func TestJSONDepthIsBounded(t *testing.T) {
	onEachEngine(t, func(t *testing.T, e engine) {
		pool, _ := e.at(t, 0)
		g := &gardener{T: t, e: e, pool: pool}
		tables := columnsOf(t, e, pool)
		found := 0
		for _, table := range slices.Sorted(maps.Keys(tables)) {
			sound := soundRows()[table]
			for _, column := range slices.Sorted(maps.Keys(tables[table])) {
				p := plant{table: table, key: sound.key, row: sound.rows[0], column: column}
				takes := func(value string) bool {
					p.value = value
					return g.takes(p)
				}
				isJSON := (takes(`{}`) || takes(`[]`)) && !takes(`{`)
				if tables[table][column] || !isJSON {
					continue
				}
				found++
				for _, nested := range []struct {
					shape string
					make  func(int) string
				}{{"arrays", deepLists}, {"objects", deepObjects}, {"many of both", manyDeep}} {
					if takes(nested.make(2)) != takes(nested.make(1000)) {
						t.Errorf("%s.%s: %s 1,000 levels deep are not taken as 2 are", table, column, nested.shape)
					}
					for _, n := range []int{1001, 3000} {
						if takes(nested.make(n)) {
							t.Errorf("%s.%s takes %s %d levels deep", table, column, nested.shape, n)
						}
					}
				}
				if takes(`["a"]`) && !takes(wide()) {
					t.Errorf("%s.%s refuses JSON that has many brackets and is not deep", table, column)
				}
			}
		}
		if found < 9 {
			t.Errorf("only %d columns are found that hold JSON", found)
		}
	})
}

// manyDeep returns JSON n levels deep whose strings hold brackets, quotes and backslashes.
func manyDeep(n int) string {
	const text = `"]}\\\"]}\\"`
	opening, closing := "", ""
	for i := range n {
		switch {
		case i == n-1:
			opening, closing = opening+"["+text, "]"+closing
		case i%2 == 0:
			opening, closing = opening+"[{}, "+text+", ", "]"+closing
		default:
			opening, closing = opening+`{"[{": `, "}"+closing
		}
	}
	return opening + closing
}

// wide returns JSON with more than 1,000 brackets that is two levels deep, and with more in its strings.
func wide() string {
	items := make([]string, 2000)
	for i := range items {
		items[i] = fmt.Sprintf(`{"n": -%d.5e+3, "ok": [true, false, null], "text": "[[[{{{ \\\" \\\\"}`, i)
	}
	return "[" + strings.Join(items, ",\n\t\r") + "]"
}
