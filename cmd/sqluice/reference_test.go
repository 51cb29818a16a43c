package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

var updateReference = flag.Bool("update-reference", false, "write docs/cli.md")

// docs/cli.md has the output of `sqluice help COMMAND` for all commands.
func TestReference(t *testing.T) {
	const path = "../../docs/cli.md"
	var text bytes.Buffer
	text.WriteString("# The command line\n\n" +
		"Written by `go test ./cmd/sqluice -run '^TestReference$' -update-reference` from what `sqluice help COMMAND` prints. DO NOT EDIT.\n")
	root := (&app{}).rootCommand()
	root.InitDefaultCompletionCmd()
	root.InitDefaultVersionFlag()
	describe(t, &text, root)
	if *updateReference {
		if err := os.WriteFile(path, text.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, text.Bytes()) {
		t.Errorf("%s is not up to date: run go test ./cmd/sqluice -run '^TestReference$' -update-reference", path)
	}
}

// describe writes the help of a command and of its subcommands.
func describe(t *testing.T, text *bytes.Buffer, cmd *cobra.Command) {
	t.Helper()
	if cmd.Hidden {
		return
	}
	cmd.InitDefaultHelpFlag()
	var help bytes.Buffer
	cmd.SetOut(&help)
	if err := cmd.Help(); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(text, "\n## %s\n\n```text\n%s\n```\n", cmd.CommandPath(), strings.TrimSpace(help.String()))
	if strings.Contains(help.String(), "```") {
		t.Errorf("the help of %s would end its block", cmd.CommandPath())
	}
	for _, sub := range cmd.Commands() {
		describe(t, text, sub)
	}
}
