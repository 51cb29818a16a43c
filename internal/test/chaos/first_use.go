//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

// laneFirstUse starts services and commands together on an empty folder, and kills some of them in a third of the
// rounds. Every acknowledged job is there, the file is sound, and no process meets a database without tables.
func laneFirstUse() lane {
	return lane{number: 13, name: "first use", engines: []string{onSQLite}, run: func(ctx context.Context, t *trial) error {
		program, err := buildHere(ctx, t.dir)
		if err != nil {
			return err
		}
		rounds := t.scaled(200)
		if t.long {
			rounds = 5000
		}
		for n := range rounds {
			r := firstUse{trial: t, number: n, program: program, dir: filepath.Join(t.dir, fmt.Sprint("round-", n))}
			if err := r.run(ctx); err != nil {
				return fmt.Errorf("round %d: %w", n, err)
			}
		}
		return nil
	}}
}

const (
	doFirstUse = "first use"

	// The processes that start together in a round.
	firstServices = 6
	firstCommands = 5
	firstWorkers  = 1

	// firstJobs is the number of jobs that a process adds.
	firstJobs = 3
)

// firstUse is one round of the lane.
type firstUse struct {
	trial   *trial
	number  int
	program string // the command
	dir     string
	users   []*firstUser
}

// firstUser is a process that uses the database.
type firstUser struct {
	cmd    *exec.Cmd
	out    bytes.Buffer
	errs   bytes.Buffer
	killed bool
	marks  []string // of the jobs that a command adds; a service prints the acknowledged ones
}

func (f *firstUse) database() string { return filepath.Join(f.dir, "jobs.db") }

func (f *firstUse) run(ctx context.Context) error {
	if err := os.Mkdir(f.dir, 0o700); err != nil {
		return err
	}
	for i := range firstServices + firstCommands + firstWorkers {
		u, err := f.user(ctx, i)
		if err != nil {
			return err
		}
		f.users = append(f.users, u)
	}
	var errs []error
	for _, u := range f.users {
		errs = append(errs, u.cmd.Start())
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if f.number%3 == 0 {
		f.killSome()
	}
	for i, u := range f.users {
		if err := u.cmd.Wait(); err != nil && !u.killed {
			f.wrong("process %d ends with %v: %s", i, err, u.errs.String())
		}
		if strings.Contains(u.errs.String(), "schema") {
			f.wrong("process %d meets a database without tables: %s", i, u.errs.String())
		}
	}
	return f.check(ctx)
}

// user prepares a service, a command that enqueues, or a command that works.
func (f *firstUse) user(ctx context.Context, i int) (*firstUser, error) {
	u := &firstUser{}
	mark := fmt.Sprintf("%d-%d", f.number, i)
	switch {
	case i < firstServices:
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		text, err := json.Marshal(role{Do: doFirstUse, DB: f.database(), Name: mark})
		if err != nil {
			return nil, err
		}
		u.cmd = exec.CommandContext(ctx, self)
		u.cmd.Env = append(os.Environ(), roleVariable+"="+string(text))
	case i < firstServices+firstCommands:
		var lines strings.Builder
		for n := range firstJobs {
			u.marks = append(u.marks, fmt.Sprintf("%s-%d", mark, n))
			fmt.Fprintf(&lines, "%q\n", u.marks[n])
		}
		u.cmd = exec.CommandContext(ctx, f.program, "--db", f.database(), "enqueue", kind, "--stdin")
		u.cmd.Stdin = strings.NewReader(lines.String())
	default:
		u.cmd = exec.CommandContext(ctx, f.program, "--db", f.database(), "work", "--drain", "--exec", kind+"=true", "--log-level", "warn")
	}
	u.cmd.Stdout, u.cmd.Stderr = &u.out, &u.errs
	return u, nil
}

// addFirst is a service that makes the database, adds some jobs and prints the acknowledged ones.
func (r role) addFirst(ctx context.Context) (err error) {
	store, err := sqlite.Open(ctx, r.DB)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	client := jobs.New(store)
	if _, err := client.Migrate(ctx); err != nil {
		return err
	}
	for n := range firstJobs {
		mark := fmt.Sprintf("%s-%d", r.Name, n)
		payload, err := json.Marshal(mark)
		if err != nil {
			return err
		}
		if _, err := client.Enqueue(ctx, kind, payload); err != nil {
			return err
		}
		if _, err := fmt.Println(mark); err != nil {
			return err
		}
	}
	return nil
}

// killSome kills up to four processes while the database is made.
func (f *firstUse) killSome() {
	for range 1 + f.trial.random.IntN(4) {
		time.Sleep(time.Duration(f.trial.random.IntN(int(25 * time.Millisecond)))) // the time of the fault
		u := f.users[f.trial.random.IntN(len(f.users))]
		u.killed = true
		_ = u.cmd.Process.Signal(syscall.SIGKILL) // it may have ended
		f.trial.count(0, 1)
	}
}

// check looks for the acknowledged jobs, and checks that one more command can use the database.
func (f *firstUse) check(ctx context.Context) error {
	last := &firstUser{marks: []string{fmt.Sprint(f.number, "-last")}}
	f.users = append(f.users, last)
	last.cmd = exec.CommandContext(ctx, f.program, "--db", f.database(), "enqueue", kind, fmt.Sprintf("%q", last.marks[0]))
	last.cmd.Stdout, last.cmd.Stderr = &last.out, &last.errs
	if err := last.cmd.Run(); err != nil {
		f.wrong("one more command ends with %v: %s", err, last.errs.String())
	}
	store, err := sqlite.Open(ctx, f.database(), sqlite.MustExist())
	if err != nil {
		return err
	}
	list, err := inspect.New(jobs.New(store)).List(ctx, inspect.Filter{Limit: 200})
	if err := errors.Join(err, store.Close()); err != nil {
		return err
	}
	there := map[string]bool{}
	for _, job := range list {
		var mark string
		if err := json.Unmarshal(job.Payload, &mark); err != nil {
			return err
		}
		there[mark] = true
	}
	for _, u := range f.users {
		for _, mark := range u.acknowledged() {
			f.trial.count(1, 0)
			if !there[mark] {
				f.trial.find(tally{lost: []string{fmt.Sprintf("round %d: job %s was acknowledged and is lost", f.number, mark)}})
			}
		}
	}
	f.trial.checkSound(ctx, f.database())
	return os.RemoveAll(f.dir)
}

// acknowledged returns the marks of the jobs that were acknowledged to the process.
func (u *firstUser) acknowledged() []string {
	said := strings.Fields(u.out.String())
	if u.marks == nil {
		var marks []string
		for _, word := range said {
			if strings.Count(word, "-") == 2 {
				marks = append(marks, word)
			}
		}
		return marks
	}
	if len(said) == 0 {
		return nil
	}
	return u.marks // all or none
}

func (f *firstUse) wrong(format string, args ...any) {
	f.trial.find(tally{other: []string{fmt.Sprintf("round %d: ", f.number) + fmt.Sprintf(format, args...)}})
}
