package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/sqluice/sqluice/jobs/sqlite"
)

// versions is the answer of the version command.
type versions struct {
	Version string `json:"version"`
	SQLite  string `json:"sqlite"`
	Schema  int64  `json:"schema"`
	Go      string `json:"go"`
}

func (a *app) versionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Show the versions of the program, of SQLite and of the schema",
		GroupID: groupDatabase,
		Args:    noArgs(),
		RunE: a.do(func(context.Context, []string) error {
			schema, err := sqlite.NewestSchema()
			if err != nil {
				return err
			}
			v := versions{Version: programVersion(), SQLite: sqlite.LibraryVersion, Schema: schema, Go: runtime.Version()}
			if asJSON {
				return a.printJSON(v)
			}
			t := newTable(a.out)
			t.row("sqluice", v.Version)
			t.row("SQLite", v.SQLite)
			t.row("schema", fmt.Sprint(v.Schema))
			t.row("Go", v.Go)
			return t.close()
		}),
	}
	jsonFlag(cmd.Flags(), &asJSON)
	return cmd
}

// programVersion returns the module's version. For a build from a checkout it contains the commit, if Go knows it.
func programVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "unknown"
	}
	return info.Main.Version
}
