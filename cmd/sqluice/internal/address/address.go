package address

import (
	"errors"
	"net/url"
	"regexp"
	"strings"
)

// Database is the address of a SQLite file or a PostgreSQL database, as --db or SQLUICE_DB names it.
type Database struct {
	Path string // the path of the SQLite file; empty for PostgreSQL
	URL  string // the URL of the PostgreSQL database, as given; it may hold a password
}

// Postgres reports whether d is a PostgreSQL database.
func (d Database) Postgres() bool { return d.URL != "" }

// Forms lists the forms that Parse accepts, for errors and help.
const Forms = "PATH, sqlite:PATH or postgres://USER@HOST/NAME"

var (
	postgresURL = regexp.MustCompile(`(?i)^postgres(ql)?://`)

	// notPath matches texts that are not meant as the name of a file: URLs, also misspelt ones. In a path :// is the same as :/,
	// and ./ can precede a path that looks like a URL. C:\ and C:/ begin a path of Windows.
	notPath = regexp.MustCompile(`(?i)://|^file:|^//|^postgres(ql)?:|^([^/\\]{2,}:|[^/\\]:[^/\\]).*@|^\s*(host|hostaddr|port|user|password|dbname|service)\s*=`)
)

// IsPath reports whether a text can be the path of a file: it is not empty, and is no address of a server.
func IsPath(text string) bool { return text != "" && !notPath.MatchString(text) }

// Parse returns the database of a PATH, sqlite:PATH or a PostgreSQL URL. The error is a phrase that follows "must". It contains no part
// of the text, which may hold a password.
func Parse(text string) (Database, error) {
	// Blanks around a URL often come from files of environment variables; a path may begin or end with them.
	if trimmed := strings.TrimSpace(text); postgresURL.MatchString(trimmed) {
		scheme, rest, _ := strings.Cut(trimmed, "://")
		text := strings.ToLower(scheme) + "://" + rest
		if err := checkURL(text); err != nil {
			return Database{}, err
		}
		return Database{URL: text}, nil
	}
	path := strings.TrimPrefix(text, "sqlite:")
	if !IsPath(path) || path == ":memory:" {
		return Database{}, errors.New("be " + Forms + ", where PATH is a file")
	}
	return Database{Path: path}, nil
}

// checkURL returns an error if the ends of the password are not certain: net/url, pgx and people disagree about special characters, and
// String could show a part of the password as the name of a host or a database.
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

// String returns the address without its password. It keeps only the parameters that name the server, the database and the schema.
func (d Database) String() string {
	if !d.Postgres() {
		return d.Path
	}
	parsed, err := url.Parse(d.URL)
	if err != nil {
		return "postgres://..." // Parse lets none through
	}
	// Parse requires an escaped @ in the name, which package url does not escape.
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
