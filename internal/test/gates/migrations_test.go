package gates_test

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// docs/postgres.md says of each migration of the project which locks it takes. Those with a time stamp are of the owner of a copy.
func TestEveryMigrationIsDescribed(t *testing.T) {
	page := read(t, "docs/postgres.md")
	for _, file := range files(t, "sql/migrations/postgres", ".sql") {
		number, name, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".sql"), "_")
		n, err := strconv.Atoi(number)
		if err != nil {
			t.Fatal(err)
		}
		if len(number) == len("20061128120000") {
			continue
		}
		if row := fmt.Sprintf("\n| %d %s |", n, name); !strings.Contains(page, row) {
			t.Errorf("docs/postgres.md has no row %q", row[1:])
		}
	}
}
