package sql_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	importInto = regexp.MustCompile(`INSERT INTO (\w+) \(([^)]+)\)`)
	importItem = regexp.MustCompile(`e\.value->>(\d+)`)
)

// A copy reads whole rows and adds them by lists in the order of the table's columns. The statements that add them name each column,
// in that order: otherwise they would leave out a new one.
func TestImportsNameEveryColumn(t *testing.T) {
	onEachEngine(t, func(t *testing.T, e engine) {
		pool, _ := e.at(t, 0)
		imports := 0
		for _, s := range statements(t, e.name) {
			into := importInto.FindStringSubmatch(s.SQL)
			if !strings.HasPrefix(s.Name, "Import") || into == nil {
				continue
			}
			imports++
			result, err := pool.QueryContext(t.Context(), "SELECT * FROM "+into[1])
			if err != nil {
				t.Fatal(err)
			}
			columns, err := result.Columns()
			if err != nil {
				t.Fatal(err)
			}
			if err := result.Close(); err != nil {
				t.Fatal(err)
			}
			if named := strings.Split(regexp.MustCompile(`\s+`).ReplaceAllString(into[2], ""), ","); !slices.Equal(named, columns) {
				t.Errorf("%s names the columns\n%v\nand the table has\n%v", s.Name, named, columns)
			}
			var items, wanted []string
			for i, item := range importItem.FindAllStringSubmatch(s.SQL, -1) {
				items, wanted = append(items, item[1]), append(wanted, fmt.Sprint(i))
			}
			if len(items) != len(columns) || !slices.Equal(items, wanted) {
				t.Errorf("%s takes the items %v for %d columns", s.Name, items, len(columns))
			}
		}
		if imports == 0 {
			t.Error("there is no import")
		}
	})
}
