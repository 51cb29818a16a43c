package gates_test

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// sqlc cuts statements short in files that are not ASCII, without an error.
func TestSQLFilesAreASCII(t *testing.T) {
	for _, file := range files(t, ".", ".sql") {
		line := 1
		for _, r := range read(t, file) {
			switch {
			case r == '\n':
				line++
			case r > '~' || r < ' ' && r != '\t':
				t.Errorf("%s:%d holds %q: only ASCII is sound in SQL files", file, line, r)
			}
		}
	}
}

// query is one statement of sql/queries with its file.
type query struct {
	file, name, command string
	comment             []string
	text                string // without comments
}

var name = regexp.MustCompile(`(?m)^-- name: *`)

// variedLimit finds a LIMIT that is a parameter alone.
var variedLimit = regexp.MustCompile(`LIMIT @\w+`)

// sqliteOnly reports whether a query is not a part of the contract of both engines.
func (q query) sqliteOnly() bool { return strings.HasPrefix(q.file, "sql/queries/sqliteonly/") }

func queries(t *testing.T) []query {
	t.Helper()
	var list []query
	for _, file := range files(t, "sql/queries", ".sql") {
		parts := name.Split(read(t, file), -1)
		if strings.TrimSpace(parts[0]) != "" {
			t.Errorf("%s: text before the first `-- name:`", file)
		}
		for _, part := range parts[1:] {
			head, body, _ := strings.Cut(part, "\n")
			called, command, _ := strings.Cut(head, " ")
			q := query{file: file, name: called, command: command}
			for line := range strings.Lines(body) {
				if strings.HasPrefix(line, "--") && q.text == "" {
					q.comment = append(q.comment, strings.TrimSpace(strings.TrimPrefix(line, "--")))
				} else if !strings.HasPrefix(strings.TrimSpace(line), "--") {
					q.text += line
				}
			}
			list = append(list, q)
		}
	}
	return list
}

// sqlc turns the comment after the name into the Go doc, which begins with the name.
func TestEveryQueryHasAComment(t *testing.T) {
	for _, q := range queries(t) {
		if len(q.comment) == 0 || !strings.HasPrefix(q.comment[0], q.name+" ") {
			t.Errorf("%s: the line after `-- name: %s` is no comment that begins with the name", q.file, q.name)
		}
	}
}

// outermost returns a statement without the text in parentheses.
func outermost(text string) string {
	inner := regexp.MustCompile(`\([^()]*\)`)
	for inner.MatchString(text) {
		text = inner.ReplaceAllString(text, "")
	}
	return text
}

var (
	jobsAlias = regexp.MustCompile(`\bsqluice_jobs AS (\w+)`)
	changes   = regexp.MustCompile(`^\s*(UPDATE|DELETE FROM) sqluice_jobs\b`)
)

// comparedStatus returns the text where a query compares the status of jobs with a parameter outside a CAST, if it does.
func comparedStatus(q query) string {
	columns := []string{}
	if changes.MatchString(q.text) {
		columns = append(columns, "status")
	}
	for _, alias := range jobsAlias.FindAllStringSubmatch(q.text, -1) {
		columns = append(columns, alias[1]+`\.status`)
	}
	for _, column := range columns {
		compared := regexp.MustCompile(`(?:\bWHERE |\bAND |\bOR |\bON |\()` + column + ` = (?:@|sqlc\.)\S*`)
		if found := compared.FindString(q.text); found != "" {
			return found
		}
	}
	return ""
}

// Outside these rules sqlc is silently wrong for SQLite: decision 1 has the rules.
func TestQueriesKeepToWhatSqlcGetsRight(t *testing.T) {
	rules := []struct {
		broken *regexp.Regexp
		says   string
	}{
		{regexp.MustCompile(`\?`), "a bare ?: use @name"},
		{regexp.MustCompile(`sqlc\.slice`), "sqlc.slice: pass a JSON list"},
		{regexp.MustCompile(`sqlc\.(embed|func)`), "sqlc.embed: return plain columns"},
		{regexp.MustCompile(`(?i)LIMIT\s+[^C@]`), "a LIMIT that is neither a parameter nor a CAST(... AS BIGINT)"},
		{regexp.MustCompile(`(?i)LIKE\b`), "LIKE: a parameter after it is left as it is"},
		{regexp.MustCompile(`(?i)SET\s*\(`), "SET (a, b) = (...)"},
		{regexp.MustCompile(`(?is)DO UPDATE SET[^;]*@`), "a parameter in ON CONFLICT DO UPDATE: use excluded"},
		{regexp.MustCompile(`(?i)(ORDER|GROUP) BY[^()]*@`), "a parameter in ORDER BY or GROUP BY"},
		{regexp.MustCompile(`(?i)HAVING|FILTER\s*\(`), "HAVING or FILTER"},
		{regexp.MustCompile(`json_extract`), "json_extract: use ->"},
	}
	notForSQLite := regexp.MustCompile(`(?is)^\s*(UPDATE\b.*\sFROM\s|WITH\b.*\b(UPDATE|INSERT|DELETE)\b)`)
	commands := []string{":one", ":many", ":exec", ":execrows"}
	sqliteOnlyCommands := append(slices.Clone(commands), ":execlastid") // which sqlc does not know for PostgreSQL
	seen := map[string]bool{}
	for _, q := range queries(t) {
		for _, rule := range rules {
			// A LIMIT in a look-up of one row may be a plain number: it is no parameter.
			text := regexp.MustCompile(`LIMIT 1\b`).ReplaceAllString(q.text, "")
			// A parameter that is the whole LIMIT or OFFSET is not in the ORDER BY before it.
			text = regexp.MustCompile(`(LIMIT|OFFSET) @\w+`).ReplaceAllString(text, "")
			if found := rule.broken.FindString(text); found != "" {
				t.Errorf("%s: %s has %q: %s", q.file, q.name, found, rule.says)
			}
		}
		if !strings.HasPrefix(q.file, "sql/queries/postgres/") && notForSQLite.MatchString(outermost(q.text)) {
			t.Errorf("%s: %s is an UPDATE ... FROM or writes after a WITH, which sqlc does not take for SQLite", q.file, q.name)
		}
		if found := variedLimit.FindString(q.text); found != "" && !strings.HasPrefix(q.file, "sql/queries/postgres/") && path.Base(q.file) == "claim.sql" {
			t.Errorf("%s: %s has %q, which SQLite plans anew for each number, and each claim has another: put the parameter in a CAST", q.file, q.name, found)
		}
		if found := comparedStatus(q); found != "" && !strings.HasPrefix(q.file, "sql/queries/postgres/") {
			t.Errorf("%s: %s has %q, which SQLite plans anew for each value, because of indexes WHERE status = ...: put the parameter in a CAST", q.file, q.name, found)
		}
		if strings.Count(q.text, ";") != 1 || !strings.HasSuffix(strings.TrimSpace(q.text), ";") {
			t.Errorf("%s: %s is not one statement", q.file, q.name)
		}
		if !slices.Contains(commands, q.command) && !(q.sqliteOnly() && slices.Contains(sqliteOnlyCommands, q.command)) {
			t.Errorf("%s: %s is %q, not one of %v", q.file, q.name, q.command, commands)
		}
		if q.command == ":execrows" && regexp.MustCompile(`@result\b|arg\('result'\)`).MatchString(q.text) {
			t.Errorf("%s: %s has a parameter called result, which does not compile with :execrows", q.file, q.name)
		}
		engine := strings.Split(strings.TrimPrefix(q.file, "sql/queries/"), "/")[0] + "/" + q.name
		if seen[engine] {
			t.Errorf("%s: %s is there twice", q.file, q.name)
		}
		seen[engine] = true
	}
}
