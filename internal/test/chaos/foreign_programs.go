//go:build linux

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"strings"

	"github.com/sqluice/sqluice/internal/sqlfiles"
)

// script runs the statements of standard input, one a line, and prints their rows.
const script = `
import sqlite3, sys
database = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=60)
for line in sys.stdin:
    for row in database.execute(line):
        print("|".join(str(value) for value in row), flush=True)
database.close()
`

// statementOf returns a statement of sql/control in one line. The file may have several, but none that is a comment.
func statementOf(name string) string {
	return strings.ReplaceAll(sqlfiles.Control("sqlite")(name), "\n", " ") + ";\n"
}

// foreigner is a program that runs the statements of its standard input on a database.
type foreigner struct {
	name string
	args []string // before the database
}

// foreigners returns the installed programs. The last one prints each row at once.
func foreigners() ([]foreigner, error) {
	var list []foreigner
	if path, err := exec.LookPath("sqlite3"); err == nil {
		list = append(list, foreigner{path, []string{"-batch", "-bail", "-cmd", ".timeout 60000"}})
	}
	path, err := exec.LookPath("python3")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNotHere, err)
	}
	return append(list, foreigner{path, []string{"-c", script}}), nil
}

func (p foreigner) command(ctx context.Context, database string) *exec.Cmd {
	return exec.CommandContext(ctx, p.name, append(append([]string{}, p.args...), database)...)
}

// run lets a program open the database, run statements, and end.
func (p foreigner) run(ctx context.Context, database, statements string) (output string, err error) {
	cmd := p.command(ctx, database)
	cmd.Stdin = strings.NewReader(statements)
	text, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", p.name, err, text)
	}
	return strings.TrimSpace(string(text)), nil
}

// talk is a program that was given some statements and waits for more.
type talk struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	rows   *bufio.Scanner
	errors buffer
	ended  bool
}

func startTalk(ctx context.Context, p foreigner, database string) (*talk, error) {
	s := &talk{cmd: p.command(ctx, database)}
	s.cmd.Stderr = &s.errors
	var err error
	if s.stdin, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.rows = bufio.NewScanner(stdout)
	return s, s.cmd.Start()
}

func (s *talk) say(statements ...string) error {
	_, err := io.WriteString(s.stdin, strings.Join(statements, ""))
	return err
}

func (s *talk) row() (string, error) {
	if !s.rows.Scan() {
		return "", fmt.Errorf("a program ended: %w: %s", s.rows.Err(), s.errors.last())
	}
	return s.rows.Text(), nil
}

// insert adds n jobs in a transaction that stays open, and returns their ids by their keys.
func (s *talk) insert(key string, n int) (map[string]int64, error) {
	if err := s.say(statementOf("begin"), strings.ReplaceAll(statementOf("insert_as_others"), "KEY", key)); err != nil {
		return nil, err
	}
	ids := map[string]int64{}
	for range n {
		row, err := s.row()
		if err != nil {
			return nil, err
		}
		number, payload, _ := strings.Cut(row, "|")
		var id int64
		if _, err := fmt.Sscan(number, &id); err != nil {
			return nil, fmt.Errorf("the row %q: %w", row, err)
		}
		var p label
		if err := json.Unmarshal([]byte(payload), &p); err != nil {
			return nil, fmt.Errorf("the row %q: %w", row, err)
		}
		ids[p.Key] = id
	}
	return ids, nil
}

// read begins a read transaction, and leaves it open.
func (s *talk) read() error {
	if err := s.say(statementOf("begin_read"), statementOf("has_tables")); err != nil {
		return err
	}
	_, err := s.row()
	return err
}

// end runs the last statements and waits for the program's end.
func (s *talk) end(statements string) error {
	if err := s.say(statements); err != nil {
		return err
	}
	if err := s.stdin.Close(); err != nil {
		return err
	}
	for s.rows.Scan() {
	}
	s.ended = true
	if err := s.cmd.Wait(); err != nil {
		return fmt.Errorf("a program: %w: %s", err, s.errors.last())
	}
	return s.rows.Err()
}

// kill ends the program at once, if it has not ended.
func (s *talk) kill() {
	if s.ended {
		return
	}
	s.ended = true
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait() // the error says that it was killed
}
