package gates_test

import (
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/sqluice/sqluice"

// packages maps each package of the module to every package that a program with it links, without the standard library.
func packages(t *testing.T) map[string][]string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "list", "-e", "-f", `{{.ImportPath}} {{join .Deps " "}}`, "./...")
	command.Dir = root(t)
	output, err := command.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	list := map[string][]string{}
	for line := range strings.Lines(string(output)) {
		fields := strings.Fields(line)
		list[strings.TrimPrefix(fields[0], module+"/")] = slices.DeleteFunc(fields[1:], func(dep string) bool {
			return !strings.Contains(strings.Split(dep, "/")[0], ".")
		})
	}
	return list
}

// links says which packages the matching packages may link beside the standard library, and which not. The first rule
// that matches counts; but lists exceptions to not. This module's own packages stand without its name.
var links = []struct{ packages, may, mayNot, but string }{
	{packages: `sql|db/sqlite|db/sqliteonly|internal/queue/(groupcommit|cron|errorpattern)`, may: `^$`},
	{packages: `db/postgres`, may: `^(github.com/jackc|golang.org/x)/`},
	{packages: `db`, may: `^db/sqlite$`},
	{packages: `jobs/jobtype`, may: `^internal/callback$`},
	{packages: `internal/queue/core`, may: `^(jobs/jobtype|internal/callback)$`},
	{packages: `internal/queue/waits`, may: `^(db|db/sqlite|internal/queue/core|jobs/jobtype|internal/callback)$`},
	{packages: `internal/queue/cipher`, may: `^(jobs/jobtype|internal/callback)$`},
	{packages: `internal/queue/redact`, may: `^(db|db/sqlite|internal/queue/(cipher|core)|jobs/jobtype|internal/callback)$`},
	{packages: `internal/queue/engine`, may: `^(db|db/sqlite|internal/queue/(cipher|core|waits)|jobs/jobtype|internal/callback)$`},
	{packages: `internal/queue/migration`, may: `^(db|db/sqlite|internal/queue/(cipher|core|waits|engine)|jobs/jobtype|internal/callback|github.com/(pressly/goose|mfridman|sethvargo)/.*|go.uber.org/multierr|golang.org/x/sync/errgroup|sql)$`},
	{packages: `internal/queue/adoption`, may: `^(db|db/sqlite|internal/queue/(cipher|core|waits|engine|migration)|jobs/jobtype|internal/callback|github.com/(pressly/goose|mfridman|sethvargo)/.*|go.uber.org/multierr|golang.org/x/sync/errgroup|sql)$`},
	{packages: `internal/queue/(stats|audit)`, may: `^(db|db/sqlite|internal/queue/core|jobs/jobtype|internal/callback)$`},
	{packages: `internal/queue/refusal`, may: `^(db|db/sqlite|internal/queue/core|jobs/jobtype|internal/callback)$`},
	{packages: `internal/queue/lifecycle`, may: `^(db|db/sqlite|internal/queue/(cipher|core|waits|engine|stats|redact)|jobs/jobtype|internal/callback)$`},
	{packages: `internal/queue/prune`, may: `^(db|db/sqlite|internal/queue/(cipher|core|waits|engine|stats|audit|redact|lifecycle|refusal)|jobs/jobtype|internal/callback)$`},
	{packages: `internal/queue/schedule`, may: `^(db|db/sqlite|internal/queue/(cipher|core|waits|engine|stats|redact|lifecycle|cron)|jobs/jobtype|internal/callback)$`},
	{packages: `internal/queue/clock`, may: `^golang.org/x/sys/.*$`},
	{packages: `internal/queue/outage`, may: `^(jobs/jobtype|internal/callback)$`},
	{packages: `internal/queue/jobrow`, may: `^(db|db/sqlite|internal/queue/core|jobs/jobtype|internal/callback)$`},
	{packages: `internal/queue/declare`, may: `^(db|db/sqlite|internal/queue/(cipher|core|waits|engine|stats|audit|redact|lifecycle|refusal|prune|schedule|cron)|jobs/jobtype|internal/callback)$`},
	{packages: `internal/queue/maintenance`, may: `^(db|db/sqlite|internal/queue/(cipher|core|waits|engine|stats|audit|redact|lifecycle|refusal|outage|prune|schedule|cron|clock)|jobs/jobtype|internal/callback|golang.org/x/sys/.*)$`},
	{packages: `internal/queue/runner`, may: `^(db|db/sqlite|internal/queue/(cipher|core|waits|engine|stats|audit|redact|lifecycle|refusal|outage|prune|maintenance|jobrow|clock|schedule|cron|declare)|jobs/jobtype|internal/callback|golang.org/x/sys/.*)$`},
	{packages: `jobs`, may: `^(db|db/sqlite|golang.org/x/sys/.*)$`, but: queueParts},
	{packages: `jobs/inspect`, may: `^(jobs|db|db/sqlite|golang.org/x/sys/.*)$`, but: queueParts},
	{packages: `jobs/sqlite`, may: `.`, mayNot: postgresParts + `|` + neverLinked, but: queueParts + `|^internal/sqlfiles$`},
	{packages: `jobs/postgres`, may: `.`, mayNot: sqliteParts + `|` + neverLinked, but: queueParts + `|^internal/sqlfiles$`},
	{packages: `admin(/.*)?`, may: `^(jobs|jobs/inspect|admin/calendar|admin/chart|internal/limitplace|internal/newjob|internal/printable|internal/ratetext|internal/uniquemode|db|db/sqlite|golang.org/x/sys/.*)$`, but: queueParts},
	{packages: `jobs/jobstest`, may: `.`, mayNot: postgresParts + `|` + neverLinked, but: queueParts + `|^internal/sqlfiles$`},
	{packages: `metrics`, may: `.`, mayNot: postgresParts + `|` + sqliteParts + `|^go.opentelemetry.io/|^(cmd|internal|examples)/|^github.com/spf13/|` + tools, but: queueParts + `|^internal/(labels|printable)$`},
	{packages: `telemetry`, may: `.`, mayNot: postgresParts + `|` + sqliteParts + `|^go.opentelemetry.io/otel/sdk|^github.com/prometheus/|^(cmd|internal|examples)/|^github.com/spf13/|` + tools, but: queueParts + `|^internal/(labels|printable)$`},
	{packages: `internal/.*`, may: `.`, mayNot: tools + `|` + watchers},
	{packages: `cmd(/.*)?`, may: `.`, mayNot: `^internal/(test|gentypes)(/|$)|^go.opentelemetry.io/|` + tools},
	{packages: `examples(/.*)?`, may: `.`, mayNot: `^internal/(test|gentypes)(/|$)|` + tools},
}

const (
	queueParts    = `^(internal/callback|internal/queue/.*|jobs/jobtype)$`
	sqliteParts   = `^modernc.org/|^jobs/sqlite$`
	postgresParts = `^github.com/jackc/|^(db|jobs)/postgres$`
	tools         = `^github.com/sqlc-dev/|^honnef.co/`
	watchers      = `^github.com/prometheus/|^go.opentelemetry.io/`
	neverLinked   = `^(cmd|internal|examples)/|^github.com/spf13/|` + watchers + `|` + tools
)

func TestImportDirection(t *testing.T) {
	list := packages(t)
	for _, needed := range []string{"sql", "db", "db/sqlite", "db/postgres", "jobs", "jobs/sqlite"} {
		if _, there := list[needed]; !there {
			t.Errorf("go list does not know package %s", needed)
		}
	}
	for name, deps := range list {
		i := slices.IndexFunc(links, func(rule struct{ packages, may, mayNot, but string }) bool {
			return regexp.MustCompile(`^(` + rule.packages + `)$`).MatchString(name)
		})
		if i < 0 {
			t.Errorf("package %s has no place in the layout: say in links what it may link", name)
			continue
		}
		may, mayNot := regexp.MustCompile(links[i].may), regexp.MustCompile(links[i].mayNot)
		for _, dep := range deps {
			dep = strings.TrimPrefix(dep, module+"/")
			if links[i].but != "" && regexp.MustCompile(links[i].but).MatchString(dep) {
				continue
			}
			if !may.MatchString(dep) || links[i].mayNot != "" && mayNot.MatchString(dep) {
				t.Errorf("package %s links %s", name, dep)
			}
		}
	}
}

// A program that uses an engine downloads these modules and no other. Metrics and tracing are for programs that import
// them.
func TestModulesOfAnEngine(t *testing.T) {
	both := []string{
		"github.com/mfridman/interpolate", "github.com/pressly/goose/v3", "github.com/sethvargo/go-retry", module,
		"go.uber.org/multierr", "golang.org/x/sync", "golang.org/x/sys",
	}
	for name, own := range map[string][]string{
		"jobs/sqlite": {
			"github.com/dustin/go-humanize", "github.com/google/uuid", "github.com/remyoudompheng/bigfft",
			"modernc.org/libc", "modernc.org/mathutil", "modernc.org/memory", "modernc.org/sqlite",
		},
		"jobs/postgres": {
			"github.com/jackc/pgpassfile", "github.com/jackc/pgservicefile", "github.com/jackc/pgx/v5", "github.com/jackc/puddle/v2",
			"golang.org/x/text",
		},
	} {
		command := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", `{{with .Module}}{{.Path}}{{end}}`, "./"+name)
		command.Dir = root(t)
		output, err := command.Output()
		if err != nil {
			t.Fatalf("go list: %v", err)
		}
		may := append(slices.Clone(both), own...)
		for _, linked := range strings.Fields(string(output)) {
			if !slices.Contains(may, linked) {
				t.Errorf("a program with %s needs module %s", name, linked)
			}
		}
	}
}

// Only the engine may import the generated PostgreSQL code, and tests.
func TestOnlyTheEngineImportsItsGeneratedCode(t *testing.T) {
	for _, file := range written(t) {
		for _, spec := range file.tree.Imports {
			if spec.Path.Value == `"`+module+`/db/postgres"` && !file.isTest() && !strings.HasPrefix(file.path, "jobs/postgres/") {
				t.Errorf("%s imports db/postgres", file.path)
			}
		}
	}
}

func TestOnlyPackageSQLEmbeds(t *testing.T) {
	seen := false
	for _, file := range written(t) {
		for _, group := range file.tree.Comments {
			for _, comment := range group.List {
				if !strings.HasPrefix(comment.Text, "//go:embed ") || ownSQL.MatchString(file.path) {
					continue
				}
				switch file.path {
				case "sql/embed.go":
					seen = true
				case "admin/routes.go": // the API's
				case "admin/pages.go": // the dashboard's
				default:
					t.Errorf("%s:%d embeds files: SQL is embedded by sql/embed.go alone", file.path, file.line(comment))
				}
			}
		}
		if file.path == "sql/embed.go" && (len(file.tree.Imports) != 1 || file.tree.Imports[0].Path.Value != `"embed"`) {
			t.Errorf("%s imports more than embed", file.path)
		}
	}
	if !seen {
		t.Error("sql/embed.go embeds nothing")
	}
}
