package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sqluice/sqluice/cmd/sqluice/internal/address"
)

// The test binary is also the command and the programs that workers run: see TestMain.
const (
	asCommand = "SQLUICE_TEST_COMMAND" // the environment variable that makes it the command line
	fileLimit = "SQLUICE_TEST_FSIZE"   // and the one that limits the size of the files it may write
	asProgram = "test-program"         // the first argument that makes it a program
)

// hangGuard bounds how long a test waits before it fails. No test depends on how long anything takes.
const hangGuard = 2 * time.Minute

func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 2 && os.Args[1] == asProgram:
		os.Exit(testProgram(os.Args[2], os.Args[3:]))
	case len(os.Args) > 1 && os.Args[1] == guardName: // of a worker in a test's own process
		main()
	case os.Getenv(asCommand) != "":
		if n, err := strconv.ParseUint(os.Getenv(fileLimit), 10, 64); err == nil {
			limitFileSize(n)
		}
		main()
	}
	os.Exit(m.Run())
}

// cli runs command lines on one database, in the test's process.
type cli struct {
	t  *testing.T
	db string
}

func newCLI(t *testing.T) *cli {
	t.Helper()
	return &cli{t, filepath.Join(t.TempDir(), "jobs.db")}
}

// shown returns the database as commands print it.
func (c *cli) shown() string {
	c.t.Helper()
	d, err := address.Parse(c.db)
	if err != nil {
		c.t.Fatal(err)
	}
	return d.String()
}

type answer struct {
	code     int
	out, err string
}

func (c *cli) runWith(stdin io.Reader, args ...string) answer {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), hangGuard)
	defer cancel()
	var out, errs bytes.Buffer
	code := run(ctx, args, stdin, &out, &errs, append(os.Environ(), "SQLUICE_DB="+c.db))
	return answer{code, out.String(), errs.String()}
}

func (c *cli) run(args ...string) answer {
	c.t.Helper()
	return c.runWith(strings.NewReader(""), args...)
}

// ok runs a command that must succeed and returns its standard output.
func (c *cli) ok(args ...string) string {
	c.t.Helper()
	a := c.run(args...)
	if a.code != exitOK {
		c.t.Fatalf("sqluice %q: exit code %d\n%s", args, a.code, a.err)
	}
	return a.out
}

// enqueue returns the new job's id.
func (c *cli) enqueue(args ...string) string {
	c.t.Helper()
	return strings.TrimSpace(c.ok(append([]string{"enqueue"}, args...)...))
}

// fails runs a command that must exit with the code and have all of the texts on standard error.
func (c *cli) fails(code int, texts []string, args ...string) {
	c.t.Helper()
	c.failsWith(code, "", texts, args...)
}

func (c *cli) failsWith(code int, stdin string, texts []string, args ...string) {
	c.t.Helper()
	a := c.runWith(strings.NewReader(stdin), args...)
	if a.code != code {
		c.t.Errorf("sqluice %q: exit code %d, want %d\n%s", args, a.code, code, a.err)
	}
	for _, text := range texts {
		if !strings.Contains(a.err, text) {
			c.t.Errorf("sqluice %q: standard error lacks %q:\n%s", args, text, a.err)
		}
	}
	if strings.Contains(a.err, "goroutine ") {
		c.t.Errorf("sqluice %q panicked:\n%s", args, a.err)
	}
}

// get decodes the JSON answer of a command.
func get[T any](c *cli, args ...string) T {
	c.t.Helper()
	var v T
	if out := c.ok(append(args, "--json")...); json.Unmarshal([]byte(out), &v) != nil {
		c.t.Fatalf("sqluice %q --json: not the JSON expected:\n%s", args, out)
	}
	return v
}

func (c *cli) show(id string) jobDetails {
	c.t.Helper()
	return get[jobDetails](c, "show", id)
}

// eventually waits until a condition is true.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(hangGuard); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it never happened: %s", what)
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
