package sql_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// written returns the statements of sql/queries by the folder and the name, such as postgres/ClaimJobs; shared ones have no folder.
func written(t *testing.T) map[string]string {
	t.Helper()
	list := map[string]string{}
	err := filepath.WalkDir("queries", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		folder := strings.TrimPrefix(strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), "queries"), "/")
		for _, part := range strings.Split("\n"+string(text), "\n-- name: ")[1:] {
			name, _, _ := strings.Cut(part, " ")
			list[strings.TrimPrefix(folder+"/"+name, "/")] = part
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// A new owner of the SQL begins with README.md: it lists every statement, once, and no other.
func TestEveryQueryIsInTheReadme(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, line := range regexp.MustCompile("(?m)^- `(\\w+)` ").FindAllStringSubmatch(string(readme), -1) {
		listed = append(listed, line[1])
	}
	var names []string
	for name := range written(t) {
		names = append(names, name[strings.Index(name, "/")+1:])
	}
	slices.Sort(listed)
	slices.Sort(names)
	names = slices.Compact(names)
	for _, name := range names {
		if !slices.Contains(listed, name) {
			t.Errorf("README.md does not list %s", name)
		}
	}
	for i, name := range listed {
		if !slices.Contains(names, name) {
			t.Errorf("README.md lists %s, which is no query", name)
		}
		if i > 0 && listed[i-1] == name {
			t.Errorf("README.md lists %s twice", name)
		}
	}
}

var (
	claimableMark = regexp.MustCompile(`/\* claimable \*/ (?:NOT )?EXISTS `)
	pausedCheck   = regexp.MustCompile(`EXISTS \(SELECT 1 FROM sqluice_pauses AS`)
	outerQueue    = regexp.MustCompile(`(\w+\.queue) = [^ )]+`)
	outerKind     = regexp.MustCompile(`(\w+\.kind) = (?:COALESCE\([^()]*\)|[^ ')]+)`)
	eitherKind    = regexp.MustCompile(`(\w+\.kind) IN \('', (?:COALESCE\([^()]*\)|[^ )]+)\)`)
	innerAlias    = regexp.MustCompile(`FROM (\w+) AS (\w+)`)
)

// claimable returns the marked conditions of a statement, each once and sorted, without the names of aliases and the compared values.
func claimable(text string) []string {
	var list []string
	for _, mark := range claimableMark.FindAllStringIndex(text, -1) {
		rest, depth := text[mark[1]:], 0
		for i, r := range rest {
			switch r {
			case '(':
				depth++
			case ')':
				depth--
			}
			if depth == 0 {
				rest = rest[:i+1]
				break
			}
		}
		condition := strings.Join(strings.Fields(rest), " ")
		if from := innerAlias.FindStringSubmatch(condition); from != nil {
			condition = outerQueue.ReplaceAllString(condition, "$1 = ?")
			condition = eitherKind.ReplaceAllString(outerKind.ReplaceAllString(condition, "$1 = ?"), "$1 IN ('', ?)")
			condition = strings.ReplaceAll(condition, " AS "+from[2]+" ", " ")
			condition = strings.ReplaceAll(condition, from[2]+".", "")
		}
		// PostgreSQL asks for the queue and for the kind apart: with statistics of few pauses it would read all kinds of a queue for IN.
		list = append(list, strings.Replace(condition, "IN ('', ?)", "= ''", 1), strings.Replace(condition, "IN ('', ?)", "= ?", 1))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// A pause holds for each statement that claims, or looks for claimable jobs: where one differs, a worker waits for jobs that it
// sees, or claims paused ones.
func TestStatementsAgreeOnClaimable(t *testing.T) {
	var first string
	var want []string
	list := written(t)
	names := make([]string, 0, len(list))
	for name := range list {
		names = append(names, name)
	}
	slices.Sort(names)
	marked := 0
	for _, name := range names {
		text := list[name]
		have := claimable(text)
		if checks, marks := len(pausedCheck.FindAllString(text, -1)), len(claimableMark.FindAllString(text, -1)); checks != marks {
			t.Errorf("%s looks for a pause %d times, and %d of these are marked /* claimable */", name, checks, marks)
		}
		if len(have) == 0 {
			continue
		}
		marked++
		if want == nil {
			first, want = name, have
		} else if !slices.Equal(have, want) {
			t.Errorf("%s and %s differ in what is claimable:\n%s\n%s", first, name, strings.Join(want, "\n"), strings.Join(have, "\n"))
		}
	}
	for _, folder := range []string{"sqlite", "postgres"} {
		for _, name := range []string{"ClaimJobs", "ClaimListedJobs", "EnqueueClaimedJob", "HasClaimableJobs", "HasUnfinishedJobs", "ListClaimableQueues", "ListPendingQueues"} {
			if len(claimable(list[folder+"/"+name])) == 0 {
				t.Errorf("%s/%s has no condition marked /* claimable */", folder, name)
			}
		}
	}
	if len(claimable(list["sqliteonly/ListClaimableJobs"])) == 0 || marked < 17 {
		t.Errorf("%d statements are marked", marked)
	}
}

// unlimited is the condition that no limit of a whole kind or queue holds a pending job.
var unlimited = regexp.MustCompile(`/\* unlimited \*/ (NOT )?EXISTS \(SELECT 1 FROM sqluice_limits AS z WHERE z\.limit_key = '' AND z\.name IN \((.+), ([^ ]+)\)\s+` +
	`AND \(z\.scope = 'queue' AND z\.name = (\S+) AND z\.running \+ z\.starts > 0 OR z\.scope <> 'queue' AND z\.name = (.+)\)\)`)

// pausedKind finds each condition on the pauses of a kind.
var pausedKind = regexp.MustCompile(`sqluice_pauses AS \w+ WHERE .*\.kind (?:IN \(''|= [^'])`)

// A limit of a whole kind or queue holds for each statement that claims pending jobs, or looks for them, as a pause does. A drain waits for
// the jobs that it holds.
func TestStatementsAgreeOnLimits(t *testing.T) {
	checked := 0
	for name, text := range written(t) {
		marks := unlimited.FindAllStringSubmatch(text, -1)
		for _, m := range marks {
			if m[2] != m[5] || m[3] != m[4] {
				t.Errorf("%s asks for a limit of %s and %s, and compares with %s and %s", name, m[2], m[3], m[5], m[4])
			}
		}
		want := len(pausedKind.FindAllString(text, -1))
		if !strings.Contains(text, "'pending'") || strings.HasSuffix(name, "HasUnfinishedJobs") {
			want = 0
		}
		if len(marks) != want {
			t.Errorf("%s looks %d times for pauses of a kind whose jobs are pending, and %d times for limits", name, want, len(marks))
		}
		checked += want
	}
	if checked < 20 {
		t.Errorf("%d conditions were checked", checked)
	}
}

func TestADifferenceInClaimableIsFound(t *testing.T) {
	const a = `WHERE /* claimable */ NOT EXISTS (SELECT 1 FROM sqluice_pauses AS p WHERE p.queue = @queue AND p.kind IN ('', k.value))`
	const b = `OR /* claimable */ EXISTS (SELECT 1 FROM sqluice_pauses AS x WHERE x.queue = l.value->>0 AND x.kind IN ('', k.value))`
	const c = `WHERE /* claimable */ NOT EXISTS (SELECT 1 FROM sqluice_pauses AS p WHERE p.queue = @queue AND p.kind = k.value)`
	if !slices.Equal(claimable(a), claimable(b)) {
		t.Errorf("%v and %v differ by aliases alone", claimable(a), claimable(b))
	}
	if slices.Equal(claimable(a), claimable(c)) {
		t.Errorf("%v and %v count as equal", claimable(a), claimable(c))
	}
}
