// Package sqlfiles reads the statements that sqlc cannot compile.
package sqlfiles

import (
	"path"
	"strings"
	"sync"

	"github.com/sqluice/sqluice/sql"
)

// Control returns a function that returns the statements of an engine's folder in sql/control by the names of their
// files, without the ending. The first call reads them; it may be called concurrently. A name without a file is a fault
// in the program: it panics.
func Control(engine string) func(name string) string {
	all := sync.OnceValue(func() map[string]string { return read(path.Join("control", engine)) })
	return func(name string) string {
		text, ok := all()[name]
		if !ok {
			panic("no statement of " + engine + " is called " + name)
		}
		return text
	}
}

func read(folder string) map[string]string {
	entries, err := sql.Control.ReadDir(folder)
	if err != nil {
		panic(err) // the folders are compiled in
	}
	list := make(map[string]string, len(entries))
	for _, entry := range entries {
		text, err := sql.Control.ReadFile(path.Join(folder, entry.Name()))
		if err != nil {
			panic(err)
		}
		list[strings.TrimSuffix(entry.Name(), ".sql")] = strings.TrimSpace(string(text))
	}
	return list
}
