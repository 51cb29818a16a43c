package migration

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/sqluice/sqluice/internal/queue/engine"
)

// Compare returns the state of the migrations in a database. applied lists the versions in goose's table, and recorded the version and
// the runs_from of each row of sqluice_schema_versions, as the engines' statements write them: "1,2,3" and "17:17,18:17". The error
// names a version in goose's table that is no migration of the project.
func (s Set) Compare(applied, recorded string) (engine.Schema, error) {
	versions, err := numbers(applied)
	if err != nil {
		return engine.Schema{}, fmt.Errorf("versions %q: %w", applied, err)
	}
	known, err := pairs(recorded)
	if err != nil {
		return engine.Schema{}, fmt.Errorf("versions %q: %w", recorded, err)
	}
	schema := engine.Schema{Want: s.Newest()}
	for _, from := range known {
		schema.RunsFrom = max(schema.RunsFrom, from)
	}
	for _, v := range versions {
		switch _, recorded := known[v]; {
		case isOwn(v):
			schema.Own = append(schema.Own, v)
		case v >= Recorded && !recorded:
			return schema, foreign(v)
		default:
			if schema.Applied = v; v == schema.Have+1 || schema.Have >= schema.Want {
				schema.Have = v
			}
		}
	}
	for _, m := range s.list {
		if _, there := slices.BinarySearch(versions, m.Version); !there {
			schema.Pending = append(schema.Pending, m.Version)
		}
	}
	schema.Refuses, err = s.refuses(schema)
	return schema, err
}

// foreign returns the error for a version of the project's range that the project did not make.
func foreign(version int64) error {
	return fmt.Errorf("version %d in sqluice_migrations is not of sqluice, whose migrations add a row to sqluice_schema_versions: "+
		"a migration of your own needs a time stamp as its version (docs/changing-sql.md: Keep your changes when you upgrade)", version)
}

// refuses returns the oldest version whose programs run after the pending migrations, and 0 when today's programs still do.
func (s Set) refuses(schema engine.Schema) (int64, error) {
	if schema.Have == 0 {
		return 0, nil
	}
	most := int64(0)
	for _, version := range schema.Pending {
		from, err := s.RunsFrom(version)
		if err != nil {
			return 0, err
		}
		most = max(most, from)
	}
	if most <= schema.Have {
		return 0, nil
	}
	return most, nil
}

// pairs returns the second numbers of a list of pairs, by the first.
func pairs(list string) (map[int64]int64, error) {
	all := map[int64]int64{}
	for text := range splitList(list) {
		first, second, _ := strings.Cut(text, ":")
		key, err := strconv.ParseInt(first, 10, 64)
		if err != nil {
			return nil, err
		}
		if all[key], err = strconv.ParseInt(second, 10, 64); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// numbers returns the distinct numbers of a list in ascending order.
func numbers(list string) ([]int64, error) {
	var all []int64
	for text := range splitList(list) {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// splitList returns the items of a list, and none for an empty list.
func splitList(list string) iter.Seq[string] {
	return strings.FieldsFuncSeq(list, func(r rune) bool { return r == ',' })
}
