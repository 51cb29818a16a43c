package adoption

import (
	"fmt"
	"slices"
	"strings"
)

// Part is a part of a schema: a table, a column, an index, a function.
type Part struct {
	Type       string // a word for people: table, column, constraint, index, trigger, view, function, domain
	Table      string // the table that the part belongs to; empty for a part that stands alone
	Name       string
	Definition string // equal parts have the same text
}

func (p Part) String() string {
	switch {
	case p.Table == "":
		return p.Type + " " + p.Name
	case p.Type == "column":
		return "column " + p.Table + "." + p.Name
	default:
		return fmt.Sprintf("%s %s of %s", p.Type, p.Name, p.Table)
	}
}

// key identifies a part.
type key struct{ kind, table, name string }

func (p Part) key() key { return key{p.Type, p.Table, p.Name} }

// comparison holds the differences between a database and a version of the schema.
type comparison struct {
	differences []string
	own         []string // parts that the owner has added
}

// compare compares the parts of a database with those of a version.
func compare(have, want []Part) (c comparison) {
	found, known := index(have), index(want)
	for _, w := range want {
		h, there := found[w.key()]
		switch {
		case !there && w.Table != "" && !hasTable(found, w.Table): // the missing table is reported in its place
		case !there:
			c.differences = append(c.differences, fmt.Sprintf("the %v is missing", w))
		case h.Definition != w.Definition:
			c.differences = append(c.differences, changed(h, w))
		}
	}
	for _, h := range have {
		switch _, there := known[h.key()]; {
		case there || h.Table != "" && !hasTable(known, h.Table):
		case h.Table != "":
			c.own = append(c.own, h.String())
		default:
			c.differences = append(c.differences, fmt.Sprintf("the %v is not of this version", h))
		}
	}
	slices.Sort(c.own)
	return c
}

func index(parts []Part) map[key]Part {
	all := make(map[key]Part, len(parts))
	for _, p := range parts {
		all[p.key()] = p
	}
	return all
}

// hasTable reports whether the parts include a table or a view of this name.
func hasTable(parts map[key]Part, name string) bool {
	_, table := parts[key{"table", "", name}]
	_, view := parts[key{"view", "", name}]
	return table || view
}

// longestShown is the length up to which an error shows a definition.
const longestShown = 300

// changed returns a text that says how the definition of a part differs.
func changed(have, want Part) string {
	if len(have.Definition)+len(want.Definition) > longestShown || strings.Contains(want.Definition, "\n") {
		return fmt.Sprintf("the %v is defined in another way", have)
	}
	return fmt.Sprintf("the %v is %q in place of %q", have, have.Definition, want.Definition)
}
