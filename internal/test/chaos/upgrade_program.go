//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/pressly/goose/v3"

	"github.com/sqluice/sqluice/internal/test/history"
	"github.com/sqluice/sqluice/jobs/sqlite"
	sqlfiles "github.com/sqluice/sqluice/sql"
)

// errNoHistory says that there is no version before this one, or that it cannot be built here.
var errNoHistory = errors.New("no version before this one is at hand")

// earlier is a version of the command, and the schema that it knows.
type earlier struct {
	program string
	schema  int64
	runsOn  bool // it runs on this version's schema
}

// buildBefore builds the command as it was before the last migration was added. It may know a schema some versions
// older: several migrations may have come together.
func buildBefore(ctx context.Context, dir string) (earlier, error) {
	return buildPackageBefore(ctx, dir, "./cmd/sqluice")
}

// buildChaosBefore builds this program as it was then, for the roles that it knew.
func buildChaosBefore(ctx context.Context, dir string) (earlier, error) {
	return buildPackageBefore(ctx, dir, "./internal/test/chaos", "./internal/chaos")
}

// buildPackageBefore builds the first of the packages that was there.
func buildPackageBefore(ctx context.Context, dir string, packages ...string) (earlier, error) {
	source := filepath.Join(dir, "before")
	if err := unpackBefore(ctx, source); err != nil {
		return earlier{}, err
	}
	pkg := packages[0]
	for _, pkg = range packages {
		if _, err := os.Stat(filepath.Join(source, pkg)); err == nil {
			break
		}
	}
	files, err := filepath.Glob(filepath.Join(source, "sql/migrations/sqlite/*.sql"))
	if err != nil || len(files) == 0 {
		return earlier{}, fmt.Errorf("the migrations before are %v: %w", files, err)
	}
	for _, file := range files { // a migration is the same one in both versions when its number and its name are
		name := filepath.Base(file)
		if _, err := fs.Stat(sqlfiles.Migrations, path.Join("migrations/sqlite", name)); err != nil {
			return earlier{}, fmt.Errorf("%w: this version has no migration %s; before the first release, migrations were written anew", errNoHistory, name)
		}
	}
	schema, err := goose.NumericComponent(files[len(files)-1]) // in the order of their numbers, which have five digits
	if err != nil {
		return earlier{}, err
	}
	before := earlier{program: filepath.Join(dir, filepath.Base(pkg)+"-before"), schema: schema}
	return before, buildPackage(ctx, source, before.program, pkg)
}

// unpackBefore writes the source as it was before the last migration was added.
func unpackBefore(ctx context.Context, source string) error {
	root, err := moduleRoot(ctx)
	if err != nil {
		return err
	}
	newest, err := sqlite.NewestSchema()
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(root, fmt.Sprintf("sql/migrations/sqlite/%05d_*.sql", newest)))
	if err != nil || len(files) != 1 {
		return fmt.Errorf("the last migration is %v: %w", files, err)
	}
	git := func(args ...string) (string, error) {
		said, err := exec.CommandContext(ctx, "git", append([]string{"-C", root}, args...)...).Output()
		if err != nil {
			return "", fmt.Errorf("%w: git %s: %w", errNoHistory, args[0], err)
		}
		return strings.TrimSpace(string(said)), nil
	}
	shallow, err := git("rev-parse", "--is-shallow-repository")
	if err != nil {
		return err
	}
	if shallow != "false" {
		return fmt.Errorf("%w: the clone is shallow", errNoHistory)
	}
	added, err := git("log", "--first-parent", "-m", "--no-renames", "--diff-filter=A", "--format=%H", "-1", "--", files[0])
	if err != nil {
		return err
	}
	if added == "" {
		added = "HEAD" // it is not committed yet
	} else {
		added += "^"
	}
	commit, err := git("rev-parse", "--verify", added)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(source, 0o700); err != nil {
		return err
	}
	tree, err := exec.CommandContext(ctx, "git", "-C", root, "archive", "--format=tar", commit).Output()
	if err != nil {
		return fmt.Errorf("git archive: %w", err)
	}
	unpack := exec.CommandContext(ctx, "tar", "-xf", "-", "-C", source)
	unpack.Stdin = bytes.NewReader(tree)
	if said, err := unpack.CombinedOutput(); err != nil {
		return fmt.Errorf("unpack %s: %w\n%s", commit, err, said)
	}
	return nil
}

// commandRole returns the role of the next command of a program, and of the programs that the command runs.
func (f *fleet) commandRole(program string) role {
	return role{
		Do: doProgram, Name: fmt.Sprintf("%s %d", filepath.Base(program), len(f.all)), Longest: 20 * time.Millisecond,
		History: filepath.Join(f.trial.dir, fmt.Sprintf("history-%d", len(f.all))),
	}
}

// command starts a command of a program on the fleet's database. Its standard output and its errors share a buffer.
func (f *fleet) command(program string, stdin io.Reader, args ...string) (*process, error) {
	p := &process{
		role: f.commandRole(program), cmd: exec.Command(program, append([]string{"--db", f.address}, args...)...),
		stderr: &buffer{}, ended: make(chan struct{}),
	}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = stdin, p.stderr, p.stderr
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	f.all = append(f.all, p)
	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	return p, nil
}

// workBefore starts a worker of the version before, whose programs record their work.
func (f *fleet) workBefore(before string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(f.commandRole(before))
	if err != nil {
		return nil, err
	}
	// Not in the worker's environment, of which its programs get few variables.
	line := fmt.Sprintf("%s=env '%s=%s' '%s'", kind, roleVariable, text, self)
	return f.command(before, nil, "work", "--exec", line, "--concurrency", "4")
}

// enqueueBefore lets the version before add jobs, and records its output.
func (f *fleet) enqueueBefore(before string, n int) error {
	name := fmt.Sprint("enqueuer before ", len(f.all))
	var lines strings.Builder
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("%s/%d", name, i)
		fmt.Fprintf(&lines, "{\"key\":%q}\n", keys[i])
	}
	p, err := f.command(before, strings.NewReader(lines.String()), "enqueue", kind, "--stdin")
	if err != nil {
		return err
	}
	notes, err := history.Append(p.History, name)
	if err != nil {
		return err
	}
	for _, key := range keys {
		if err := notes.Write(history.Event{What: history.Invoke, Key: key}); err != nil {
			return joinClose(err, notes)
		}
	}
	if err := p.end(); err != nil {
		return joinClose(err, notes)
	}
	said := strings.NewReader(p.stderr.last())
	for _, key := range keys {
		e := history.Event{What: history.Acked, Key: key}
		if _, err := fmt.Fscan(said, &e.Job); err != nil {
			return joinClose(fmt.Errorf("%s says %q: %w", p.Name, p.stderr.last(), err), notes)
		}
		if err := notes.Write(e); err != nil {
			return joinClose(err, notes)
		}
	}
	return notes.Close()
}

func joinClose(err error, c io.Closer) error { return errors.Join(err, c.Close()) }
