package gates_test

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// docs/postgres.md says of each migration which locks it takes.
func TestEveryMigrationIsDescribed(t *testing.T) {
	page := read(t, "docs/postgres.md")
	for _, file := range files(t, "sql/migrations/postgres", ".sql") {
		number, name, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".sql"), "_")
		n, err := strconv.Atoi(number)
		if err != nil {
			t.Fatal(err)
		}
		if row := fmt.Sprintf("\n| %d %s |", n, name); !strings.Contains(page, row) {
			t.Errorf("docs/postgres.md has no row %q", row[1:])
		}
	}
}
