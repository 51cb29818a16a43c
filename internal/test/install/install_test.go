package install

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sqluice/sqluice/internal/test/testdb"
)

var update = flag.Bool("update", false, "write what the programs of testdata get into their golden files")

// The command is installed as README.md says, and says its version.
func TestInstallTheCommand(t *testing.T) {
	long(t)
	version, env := release(t)
	bin := t.TempDir()
	goCommand(t, append(env, "GOBIN="+bin, "CGO_ENABLED=0"), t.TempDir(), "install", path+"/cmd/sqluice@"+version)
	out, err := exec.CommandContext(t.Context(), filepath.Join(bin, "sqluice"), "--version").Output()
	if err != nil || !strings.Contains(string(out), version) {
		t.Errorf("sqluice --version prints %q, %v", out, err)
	}
}

// A program of one engine gets the modules of its golden file: the linked ones, those that its go.sum has a download for, and those of
// which only the version counts, because sqluice needs them elsewhere: they rise where the program had an older one.
func TestImport(t *testing.T) {
	long(t)
	version, env := release(t)
	for _, engine := range []string{"sqlite", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			folder := t.TempDir()
			program, err := os.ReadFile(filepath.Join("testdata", engine, "main.go.txt"))
			must(t, err)
			must(t, os.WriteFile(filepath.Join(folder, "main.go"), program, 0o644))
			goCommand(t, env, folder, "mod", "init", "example.com/program")
			goCommand(t, env, folder, "get", path+"@"+version)
			goCommand(t, env, folder, "mod", "tidy")
			goCommand(t, append(env, "CGO_ENABLED=0"), folder, "build", "-o", "program", ".")
			wantGreeting(t, engine, folder, string(program))

			linked := strings.Fields(goCommand(t, env, folder, "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", "."))
			sums, err := os.ReadFile(filepath.Join(folder, "go.sum"))
			must(t, err)
			var lines []string
			for line := range strings.Lines(goCommand(t, env, folder, "list", "-m", "-f", "{{.Path}} {{.Version}}", "all")) {
				line = strings.TrimSpace(line)
				name, number, _ := strings.Cut(line, " ")
				switch {
				case name == "example.com/program" || name == path:
				case slices.Contains(linked, name):
					lines = append(lines, "links     "+line)
				case strings.Contains(string(sums), name+" "+number+" h1:"):
					lines = append(lines, "downloads "+line)
				default:
					lines = append(lines, "raises    "+line)
				}
			}
			slices.Sort(lines)
			have, golden := strings.Join(lines, "\n")+"\n", filepath.Join("testdata", engine, "golden.txt")
			if *update {
				must(t, os.WriteFile(golden, []byte(have), 0o644))
			}
			want, err := os.ReadFile(golden)
			must(t, err)
			if have != string(want) {
				t.Errorf("%s differs; run go test -C internal/test/install -update\n%s", golden, have)
			}
			for _, driver := range map[string][]string{"sqlite": {"github.com/jackc/pgx/v5"}, "postgres": {"modernc.org/sqlite"}}[engine] {
				if slices.Contains(linked, driver) {
					t.Errorf("a program of %s links %s", engine, driver)
				}
			}
		})
	}
}

// mainLines is the largest number of lines of the function main of a first program.
const mainLines = 30

// wantGreeting runs a program of testdata, which docs/start.md quotes.
func wantGreeting(t *testing.T, engine, folder, source string) {
	t.Helper()
	_, body, _ := strings.Cut(source, "func main() {\n")
	body, _, _ = strings.Cut(body, "\n}\n")
	if n := strings.Count(body, "\n") + 1; n > mainLines {
		t.Errorf("main has %d lines, more than %d", n, mainLines)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(folder, "program"))
	cmd.Dir, cmd.Env = folder, os.Environ()
	if engine == "postgres" {
		cmd.Env = append(cmd.Env, "DATABASE_URL="+testdb.StartPostgres(t).Database(t))
	}
	out, err := cmd.Output()
	if err != nil || string(out) != "Hello, Ada\n" {
		t.Errorf("the program prints %q, %v", out, err)
	}
}

// long leaves out a test that downloads and builds for long where short ones are asked for.
func long(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("builds programs for long")
	}
}
