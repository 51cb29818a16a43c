package main

import (
	"errors"
	"net/url"
	"regexp"
	"strings"
)

const (
	defaultDatabase  = "jobs.db"
	databaseVariable = "SQLUICE_DB"
)

// database is a SQLite file or a PostgreSQL database, as --db or SQLUICE_DB names it.
type database struct {
	path string // of the SQLite file; empty for PostgreSQL
	url  string // of the PostgreSQL database, as given; it may hold a password
}

// postgres reports whether it is a PostgreSQL database.
func (d database) postgres() bool { return d.url != "" }

// forms lists the forms that parseDatabase accepts, for errors and help.
const forms = "PATH, sqlite:PATH or postgres://USER@HOST/NAME"

var (
	postgresURL = regexp.MustCompile(`(?i)^postgres(ql)?://`)

	// notPath matches texts that are not meant as the name of a file: URLs, also misspelt ones. In a path :// is the same as :/,
	// and ./ can precede a path that looks like a URL. C:\ and C:/ begin a path of Windows.
	notPath = regexp.MustCompile(`(?i)://|^file:|^//|^postgres(ql)?:|^([^/\\]{2,}:|[^/\\]:[^/\\]).*@|^\s*(host|hostaddr|port|user|password|dbname|service)\s*=`)
)

// parseDatabase parses PATH, sqlite:PATH or PostgreSQL's URL. The error is a phrase that follows "must", and contains no part
// of the text, which may hold a password.
func parseDatabase(text string) (database, error) {
	// Blanks around a URL often come from files of environment variables; a path may begin or end with them.
	if trimmed := strings.TrimSpace(text); postgresURL.MatchString(trimmed) {
		scheme, rest, _ := strings.Cut(trimmed, "://")
		text := strings.ToLower(scheme) + "://" + rest
		if err := checkURL(text); err != nil {
			return database{}, err
		}
		return database{url: text}, nil
	}
	path := strings.TrimPrefix(text, "sqlite:")
	if path == "" || path == ":memory:" || notPath.MatchString(path) {
		return database{}, errors.New("be " + forms + ", where PATH is a file")
	}
	return database{path: path}, nil
}

// checkURL refuses a URL in which the password's ends are not certain: net/url, pgx and people disagree about special
// characters, and a part of the password could be shown as the name of a host or a database.
func checkURL(text string) error {
	fault := errors.New("be a URL such as postgres://USER:PASSWORD@HOST:5432/NAME?sslmode=require, " +
		"with % and two hex digits for each special character in a part: %40 for @, %2F for /, %3F for ?, %23 for #, %25 for %")
	parsed, err := url.Parse(text)
	if err != nil {
		return fault
	}
	if _, err := url.ParseQuery(parsed.RawQuery); err != nil {
		return fault
	}
	_, authority, _ := strings.Cut(text, "://")
	rest := ""
	if i := strings.IndexAny(authority, "/?#"); i >= 0 {
		authority, rest = authority[:i], authority[i:]
	}
	if strings.Count(authority, "@") > 1 || strings.ContainsAny(rest, "@#") || strings.Count(rest, "?") > 1 || strings.Contains(text, " ") {
		return fault
	}
	return nil
}

// String returns the database without its password and without most of its parameters.
func (d database) String() string {
	if !d.postgres() {
		return d.path
	}
	parsed, err := url.Parse(d.url)
	if err != nil {
		return "postgres://..." // parseDatabase lets none through
	}
	// parseDatabase requires an escaped @ in the name, which package url does not escape.
	clean := url.URL{Scheme: parsed.Scheme, Host: parsed.Host, Path: parsed.Path, RawPath: strings.ReplaceAll(parsed.EscapedPath(), "@", "%40")}
	if name := parsed.User.Username(); name != "" {
		clean.User = url.User(name)
	}
	given, kept := parsed.Query(), url.Values{}
	for _, name := range []string{"host", "port", "user", "dbname", "service", "schema"} {
		if values := given[name]; len(values) > 0 {
			kept.Set(name, values[len(values)-1]) // the last one counts
		}
	}
	clean.RawQuery = kept.Encode()
	if clean.Path == "" && clean.Host == "" && clean.User == nil {
		return strings.Replace(clean.String(), ":", "://", 1) // package url omits the slashes
	}
	return clean.String()
}

// databaseValue is a flag that names a database.
type databaseValue struct{ database *database }

func (v *databaseValue) Set(text string) (err error) {
	*v.database, err = parseDatabase(text)
	return err
}

func (v *databaseValue) String() string { return v.database.String() }
func (v *databaseValue) Type() string   { return "DATABASE" }

// database returns the database of the flag, of the environment or the default.
func (a *app) database() (database, error) {
	if a.db != (database{}) {
		return a.db, nil
	}
	text := a.getenv(databaseVariable)
	if text == "" {
		return database{path: defaultDatabase}, nil
	}
	d, err := parseDatabase(text)
	if err != nil {
		return database{}, usagef("%s %q must %w", databaseVariable, shown(text), err)
	}
	return d, nil
}
