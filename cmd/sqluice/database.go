package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

const (
	defaultDatabase  = "jobs.db"
	databaseVariable = "SQLUICE_DB"
)

// databaseValue is the --db flag; it keeps the file's path.
type databaseValue struct{ path *string }

func (v *databaseValue) Set(text string) (err error) {
	*v.path, err = parseDatabase(text)
	return err
}

func (v *databaseValue) String() string { return *v.path }
func (v *databaseValue) Type() string   { return "PATH" }

var urlScheme = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*://`)

// parseDatabase takes PATH or sqlite:PATH. The error is a phrase that follows "must".
func parseDatabase(text string) (path string, err error) {
	path = strings.TrimPrefix(text, "sqlite:")
	switch {
	case strings.HasPrefix(text, "postgres://"), strings.HasPrefix(text, "postgresql://"):
		return "", errors.New("be PATH or sqlite:PATH: this version has no PostgreSQL engine yet")
	case path == "", path == ":memory:", strings.HasPrefix(path, "file:"), urlScheme.MatchString(text), strings.HasPrefix(path, "//"):
		return "", errors.New("be PATH or sqlite:PATH, where PATH is a file")
	}
	return path, nil
}

// path is the database's file: the flag's, the environment's or the default.
func (a *app) path() (string, error) {
	if a.db != "" {
		return a.db, nil
	}
	text := a.getenv(databaseVariable)
	if text == "" {
		return defaultDatabase, nil
	}
	path, err := parseDatabase(text)
	if err != nil {
		return "", usagef("%s %q must %w", databaseVariable, text, err)
	}
	return path, nil
}

// withClient calls fn with a client of the database, which must exist.
func (a *app) withClient(ctx context.Context, fn func(*jobs.Client) error) error {
	path, err := a.path()
	if err != nil {
		return err
	}
	store, err := sqlite.Open(ctx, path, sqlite.MustExist())
	if err != nil {
		return hintMissing(err)
	}
	return errors.Join(fn(jobs.New(store)), closeStore(store))
}

func closeStore(store *sqlite.Store) error {
	if err := store.Close(); err != nil {
		return fmt.Errorf("close the database: %w", err)
	}
	return nil
}

func hintMissing(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%w (run `sqluice up` to make one, or name another with --db)", err)
	}
	return err
}
