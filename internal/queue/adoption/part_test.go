package adoption

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/sqluice/sqluice/internal/queue/migration"
)

func TestOfPostgresIsFlat(t *testing.T) {
	for _, same := range [][]string{
		{"CHECK (((a >= 1) AND (a <= 2)))", "CHECK ((a >= 1) AND (a <= 2))"},
		{"CHECK ((((a = 1) AND (b = 2)) AND ((c = 3) AND (d = 4))))", "CHECK (((a = 1) AND (b = 2) AND (c = 3) AND (d = 4)))"},
		{"CHECK (((x IS NULL) OR ((y = 1) OR (z = 2))))", "CHECK (((x IS NULL) OR (y = 1) OR (z = 2)))"},
	} {
		for _, text := range same {
			if a, b := OfPostgres("constraint", "t", "c", same[0])[0], OfPostgres("constraint", "t", "c", text)[0]; a != b {
				t.Errorf("%q is %q, and %q is %q", same[0], a.Definition, text, b.Definition)
			}
		}
	}
	for _, other := range [][2]string{
		{"CHECK (((a OR b) AND c))", "CHECK ((a OR (b AND c)))"},
		{"CHECK ((NOT (a AND b)) AND c)", "CHECK ((NOT a) AND b AND c)"},
		{"CHECK (f(a) AND b)", "CHECK (f AND a AND b)"},
		{"CHECK ((a = '(b AND c)'))", "CHECK ((a = '(b  AND c)'))"},
	} {
		if a, b := OfPostgres("constraint", "t", "c", other[0])[0], OfPostgres("constraint", "t", "c", other[1])[0]; a == b {
			t.Errorf("%q and %q are both %q", other[0], other[1], a.Definition)
		}
	}
}

func TestOfSQLite(t *testing.T) {
	want := OfSQLite("table", "t", "t", "CREATE TABLE t (\n  id INTEGER PRIMARY KEY, -- the, id\n  n TEXT DEFAULT 'A, (b' CHECK (n <> ')'),\n  CONSTRAINT c CHECK (id > 0), UNIQUE (n)\n) STRICT")
	for _, text := range []string{
		`create table if not exists "t" (id integer primary key, /* one */ n text default 'A, (b' check (n<>')'), constraint c check (id>0), unique (n)) strict`,
		"CREATE TABLE `t` (`n` TEXT DEFAULT 'A, (b' CHECK (\"n\" <> ')'), id INTEGER PRIMARY KEY, UNIQUE(n), CONSTRAINT c CHECK(id > 0)) STRICT",
	} {
		if c := compare(OfSQLite("table", "t", "t", text), want); len(c.differences)+len(c.own) > 0 {
			t.Errorf("%s\ndiffers: %v, %v", text, c.differences, c.own)
		}
	}
	for text, difference := range map[string]string{
		"CREATE TABLE t (id INTEGER PRIMARY KEY, n TEXT DEFAULT 'a, (b' CHECK (n <> ')'), CONSTRAINT c CHECK (id > 0), UNIQUE (n)) STRICT": "the column t.n is",
		"CREATE TABLE t (id INTEGER PRIMARY KEY, n TEXT DEFAULT 'A, (b' CHECK (n <> ')'), CONSTRAINT c CHECK (id > 0)) STRICT":             "the constraint unique ( n ) of t is missing",
		"CREATE TABLE t (id INTEGER PRIMARY KEY, n TEXT DEFAULT 'A, (b' CHECK (n <> ')'), CONSTRAINT c CHECK (id > 0), UNIQUE (n))":        `the table t is "" in place of "strict"`,
	} {
		if c := compare(OfSQLite("table", "t", "t", text), want); len(c.differences) != 1 || !strings.HasPrefix(c.differences[0], difference) {
			t.Errorf("%s\ndiffers in %v, not %q", text, c.differences, difference)
		}
	}
}

// A text that no parser accepts still gives parts, which equal no other part.
func TestOfSQLiteTakesEveryText(t *testing.T) {
	for _, text := range []string{"", "CREATE TABLE t AS SELECT 1", "(", ")", "CREATE TABLE t (", "CREATE TABLE t (a, 'x", "CREATE TABLE t ())"} {
		if parts := OfSQLite("table", "t", "t", text); len(parts) == 0 {
			t.Errorf("%q has no parts", text)
		}
	}
}

func TestFind(t *testing.T) {
	set, err := migration.Read(fstest.MapFS{
		"00001_a.sql": migrationFile("table a"),
		"00002_b.sql": migrationFile("table b"),
		"00003_c.sql": migrationFile("table c"),
	})
	if err != nil {
		t.Fatal(err)
	}
	find := func(have ...Part) (Match, error) {
		var made []Part
		return Find(set, have, "another file", func(up string) ([]Part, error) {
			made = append(made, Part{Type: "table", Name: strings.TrimPrefix(up, "table ")})
			return slices.Clone(made), nil
		})
	}
	a, b := Part{Type: "table", Name: "a"}, Part{Type: "table", Name: "b"}
	match, err := find(a, b, Part{Type: "column", Table: "b", Name: "own"})
	if err != nil || match.Version != 2 || fmt.Sprint(match.Own) != "[column b.own]" {
		t.Errorf("the match is %+v, %v", match, err)
	}
	var different *DifferentError
	if _, err := find(b); !errors.As(err, &different) || different.Version != 2 || fmt.Sprint(different.Differences) != "[the table a is missing]" {
		t.Errorf("without the first table it is %v", err)
	}
	fault := errors.New("no room")
	if _, err := Find(set, []Part{a}, "another file", func(string) ([]Part, error) { return nil, fault }); !errors.Is(err, fault) {
		t.Errorf("a fault of the engine gives %v", err)
	}
	if _, err := Find(migration.Set{}, nil, "", nil); err == nil {
		t.Error("no migrations give no error")
	}
}

// A change of the owner's migration to the queue's tables shows that the migration ran; nothing shows it for other migrations.
func TestFindOwnMigrations(t *testing.T) {
	a, b := Part{Type: "table", Name: "a"}, Part{Type: "table", Name: "b"}
	column := func(name string) Part { return Part{Type: "column", Table: "a", Name: name} }
	region, flavour := column("region"), column("flavour")
	const noTable = "column of another table"
	for what, test := range map[string]struct {
		own     []string
		have    []Part
		version int64
		shown   int // the number of the owner's migrations that the parts show
	}{
		"none":                       {[]string{"column region"}, []Part{a, b}, 2, 0},
		"one":                        {[]string{"column region", "column flavour"}, []Part{a, b, region}, 2, 1},
		"another type":               {[]string{"column region"}, []Part{a, b, {Type: "column", Table: "a", Name: "region", Definition: "blob"}}, 2, 0},
		"the second alone":           {[]string{"column region", "column flavour"}, []Part{a, b, flavour}, 2, 0},
		"nothing of the kind":        {[]string{"column region", "fill region", "column flavour"}, []Part{a, b, region, flavour}, 2, 1},
		"another table":              {[]string{"column region", noTable, "column flavour"}, []Part{a, b, region, flavour}, 2, 1},
		"changed later":              {[]string{"column region", "type region", "column flavour"}, []Part{a, b, {Type: "column", Table: "a", Name: "region", Definition: "blob"}, flavour}, 2, 3},
		"not changed yet":            {[]string{"column region", "type region"}, []Part{a, b, region}, 2, 1},
		"dropped later":              {[]string{"column region", "drop region", "column flavour"}, []Part{a, b, flavour}, 2, 3},
		"dropped of a later version": {[]string{"column region", "column flavour", "drop b"}, []Part{a, region, flavour}, 1, 2},
		"not dropped":                {[]string{"column region", "drop b"}, []Part{a, b, region}, 2, 1},
		"an older version":           {[]string{"column region"}, []Part{a, region}, 1, 1},
	} {
		files := fstest.MapFS{"00001_a.sql": migrationFile("table a"), "00002_b.sql": migrationFile("table b")}
		for i, up := range test.own {
			files[fmt.Sprintf("202601%02d000000_own.sql", i+1)] = migrationFile(up)
		}
		set, err := migration.Read(files)
		if err != nil {
			t.Fatal(err)
		}
		var made []Part
		match, err := Find(set, test.have, "another file", func(up string) ([]Part, error) {
			switch verb, name, _ := strings.Cut(up, " "); {
			case up == noTable:
				return nil, errors.New("there is no such table")
			case verb == "table":
				made = append(made, Part{Type: verb, Name: name})
			case verb == "column":
				made = append(made, column(name))
			case verb == "type":
				i := slices.Index(made, column(name))
				made[i].Definition = "blob"
			case verb == "drop":
				made = slices.DeleteFunc(made, func(p Part) bool { return p.Name == name })
			}
			return slices.Clone(made), nil
		})
		if err != nil || match.Version != test.version || len(match.Migrations) != int(test.version)+test.shown {
			t.Errorf("%s: the match is %+v, %v", what, match, err)
		}
	}
}

func migrationFile(up string) *fstest.MapFile {
	return &fstest.MapFile{Data: []byte("-- +goose Up\n" + up + "\n-- +goose Down\nnothing")}
}
