package migration

import (
	"cmp"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// firstOwn is the first version of the owner's range: goose's time stamps have fourteen digits.
const firstOwn = 10_000_000_000_000

// Recorded is the first version that adds a row to sqluice_schema_versions. A program never runs on an older schema than its own, and
// on a newer one only from this version on.
const Recorded = 17

// Migration is one migration of an engine.
type Migration struct {
	Version int64
	Name    string // the name of its file
}

// IsOwn reports whether the migration is one of the database's owner.
func (m Migration) IsOwn() bool { return isOwn(m.Version) }

func isOwn(version int64) bool { return version >= firstOwn }

// Set holds the migrations of an engine, in the order of their versions.
type Set struct {
	files fs.FS
	list  []Migration
}

// Read returns the migrations in a folder.
func Read(files fs.FS) (Set, error) {
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		return Set{}, err
	}
	s := Set{files: files}
	for _, name := range names {
		number, _, _ := strings.Cut(name, "_")
		version, err := strconv.ParseInt(number, 10, 64)
		if err != nil || version < 1 {
			return Set{}, fmt.Errorf("migration %s: its name must begin with a version and an underscore", name)
		}
		s.list = append(s.list, Migration{Version: version, Name: name})
	}
	slices.SortFunc(s.list, func(a, b Migration) int { return cmp.Compare(a.Version, b.Version) })
	return s, nil
}

// All returns the migrations in the order of their versions.
func (s Set) All() []Migration { return slices.Clone(s.list) }

// Newest returns the newest version of the project.
func (s Set) Newest() (version int64) {
	for _, m := range s.list {
		if !m.IsOwn() {
			version = m.Version
		}
	}
	return version
}

// record matches the row of sqluice_schema_versions that a migration adds.
var record = regexp.MustCompile(`(?i)\bsqluice_schema_versions\s*\(version, runs_from\)\s*VALUES\s*\((\d+), (\d+)\)`)

// RunsFrom returns the oldest version of the schema whose programs run after a migration. A migration without a row in
// sqluice_schema_versions runs with programs of its own version, and the owner's with all.
func (s Set) RunsFrom(version int64) (int64, error) {
	i := slices.IndexFunc(s.list, func(m Migration) bool { return m.Version == version })
	if i < 0 {
		return 0, fmt.Errorf("there is no migration %d", version)
	}
	switch m := s.list[i]; {
	case m.IsOwn():
		return 0, nil
	case version < Recorded:
		return version, nil
	default:
		return s.recorded(m)
	}
}

// recorded returns the runs_from of the row that a migration adds.
func (s Set) recorded(m Migration) (int64, error) {
	text, err := fs.ReadFile(s.files, m.Name)
	if err != nil {
		return 0, err
	}
	match := record.FindSubmatch(text)
	if match == nil || string(match[1]) != strconv.FormatInt(m.Version, 10) {
		return 0, fmt.Errorf("migration %s adds no row of its version to sqluice_schema_versions", m.Name)
	}
	return strconv.ParseInt(string(match[2]), 10, 64)
}
