package examples_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/sqluice/sqluice/internal/markdown"
	"github.com/sqluice/sqluice/internal/test/gates"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/postgres"
)

// pages returns the pages whose snippets are tested.
func pages(t *testing.T) []string {
	t.Helper()
	root, err := gates.Root()
	if err != nil {
		t.Fatal(err)
	}
	list, err := gates.Files(root, "docs", ".md")
	if err != nil {
		t.Fatal(err)
	}
	return append(list, "README.md", "CONTRIBUTING.md")
}

func fences(t *testing.T, page string) []markdown.Fence {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash("../" + page))
	if err != nil {
		t.Fatal(err)
	}
	return markdown.Fences(string(text))
}

// No snippet escapes: each fence names a language that a test knows, or says why it is not run.
func TestEverySnippetIsTested(t *testing.T) {
	count := map[string]int{}
	for _, page := range pages(t) {
		text, err := os.ReadFile(filepath.FromSlash("../" + page))
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range markdown.IndentedCode(string(text)) {
			t.Errorf("%s:%d: code without a fence has no language", page, line)
		}
		found := fences(t, page)
		if marks := regexp.MustCompile("(?m)^ *```").FindAllString(string(text), -1); len(marks) != 2*len(found) {
			t.Errorf("%s has %d lines of fences, and %d fences were read", page, len(marks), len(found))
		}
		for _, fence := range found {
			count[fence.Language]++
			reason, isLeftOut := strings.CutPrefix(fence.Note, "not run: ")
			switch {
			case isLeftOut && len(reason) < 10:
				t.Errorf("%s:%d: the reason %q says little", page, fence.Line, reason)
			case fence.Language == "go", fence.Language == "sql":
				if isLeftOut {
					t.Errorf("%s:%d: a snippet of %s must be run", page, fence.Line, fence.Language)
				}
			case fence.Language == "text", fence.Language == "sh", isLeftOut:
			case fence.Language == "diff" && page == "docs/changing-sql.md": // internal/test/trial makes these edits
			default:
				t.Errorf("%s:%d: no test knows the language %q", page, fence.Line, fence.Language)
			}
		}
	}
	t.Logf("snippets: %v", count)
}

// The programs of the pages are Examples and tests, line for line, but for the frame that a program needs.
func TestPagesQuoteTheExamples(t *testing.T) {
	sources := sources(t)
	for _, page := range pages(t) {
		for _, fence := range fences(t, page) {
			if fence.Language != "go" || isWhole(fence) { // TestWholePrograms runs these
				continue
			}
			far, lacks := -1, ""
			for _, source := range sources {
				line, at := lacking(fence.Text, source)
				if at > far {
					far, lacks = at, line
				}
			}
			if lacks != "" {
				t.Errorf("the program at %s:%d has %q, which no example has, or not in this place", page, fence.Line, lacks)
			}
		}
	}
}

// sources returns the files from which the pages quote.
func sources(t *testing.T) []string {
	t.Helper()
	var list []string
	for _, pattern := range []string{"../jobs/example*_test.go", "recipes/*_test.go", "../internal/test/install/testdata/*/main.go.txt", "../jobs/*/example*_test.go", "../admin/example_test.go", "../metrics/example_test.go", "../telemetry/example_test.go", "guides/*_test.go"} {
		files, err := filepath.Glob(filepath.FromSlash(pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("no file matches %s: %v", pattern, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, string(text))
		}
	}
	return list
}

// lacking returns the first line of a block that a source lacks, or has in another place, and the number of lines that were found; ""
// if none is missing. Indentation and the alignment of comments may differ.
func lacking(block, source string) (line string, found int) {
	plain := func(line string) string { return strings.Join(strings.Fields(line), " ") }
	var lines []string
	for line := range strings.Lines(source) {
		lines = append(lines, plain(line))
	}
	for line := range strings.Lines(block) {
		line = plain(line)
		if line == "" || line == "func main() {" || line == `path := "jobs.db"` || line == "}" {
			continue
		}
		at := slices.Index(lines, line)
		if at < 0 {
			return line, found
		}
		lines = lines[at+1:]
		found++
	}
	return "", len(lines) + found
}

// sqlTests says which test runs the SQL of a page.
var sqlTests = map[string]string{
	"docs/sql.md": "TestContractRuns", "docs/unique.md": "TestContractRuns",
	"docs/schedules.md": "TestSQLSnippets", "docs/languages.md": "TestSQLSnippets", "docs/settings.md": "TestSQLSnippets", "docs/limits.md": "TestSQLSnippets",
	"docs/postgres.md":     "TestSQLOfPostgres",
	"docs/changing-sql.md": "TestExamplesOfThePage of internal/test/trial",
	"docs/queries.md":      "TestQueriesForOperators",
	"docs/security.md":     "TestWhatIsForgottenIsInNoFile of jobs/postgres",
}

// Every statement of a page runs in a new database, on both engines where the page is for both.
func TestSQLSnippets(t *testing.T) {
	for _, page := range pages(t) {
		for _, fence := range fences(t, page) {
			if fence.Language == "sql" && sqlTests[page] == "" {
				t.Errorf("%s:%d: no test runs the SQL of this page", page, fence.Line)
			}
		}
		if sqlTests[page] != "TestSQLSnippets" {
			continue
		}
		t.Run(page+" on SQLite", func(t *testing.T) {
			pool := testdb.PlainSQLite(t, testdb.SQLite(t).Path())
			runSQL(t, pool, page)
		})
		t.Run(page+" on PostgreSQL", func(t *testing.T) {
			url := shared.Postgres(t).Database(t)
			migrate(t, url)
			pool, err := sql.Open("pgx", url)
			if err != nil {
				t.Fatal(err)
			}
			defer pool.Close()
			runSQL(t, pool, page)
		})
	}
}

func runSQL(t *testing.T, pool *sql.DB, page string) {
	t.Helper()
	for _, block := range blocks(t, page, "sql") {
		if _, err := pool.ExecContext(t.Context(), block); err != nil {
			t.Errorf("%v in\n%s", err, block)
		}
	}
}

func migrate(t *testing.T, url string, opts ...postgres.Option) {
	t.Helper()
	store, err := postgres.Open(t.Context(), url, opts...)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if _, err := jobs.New(store).Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// The statements of docs/postgres.md run in their order: those for a superuser, those of the role that migrates, and a look at the
// server.
func TestSQLOfPostgres(t *testing.T) {
	cluster := testdb.StartCluster(t, nil) // roles are a whole server's
	url := cluster.Database(t)
	owner := regexp.MustCompile(`://[^@/]*@`).ReplaceAllString(url, "://queue_owner@")
	for _, block := range blocks(t, "docs/postgres.md", "sql") {
		as := url
		if strings.Contains(block, "As the role that migrates") {
			as = owner
			migrate(t, owner, postgres.WithSchema("queue"))
		}
		conn, err := pgx.Connect(t.Context(), as)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Exec(t.Context(), block); err != nil {
			t.Errorf("%v in\n%s", err, block)
		}
		if err := conn.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}
