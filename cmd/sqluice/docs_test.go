package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sqluice/sqluice/internal/markdown"
	"github.com/sqluice/sqluice/internal/test/gates"
)

var (
	lineComment = regexp.MustCompile(`\s#\s.*$`)
	programName = regexp.MustCompile(`(--exec '[a-z]+)=[^' ]+`)
	inlineCode  = regexp.MustCompile("`(sqluice [^`]+)`")
)

// Each command line of the pages, also one within a text, names a command and flags that exist.
func TestPagesNameRealFlags(t *testing.T) {
	files, err := gates.Files("../..", "docs", ".md")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, file := range append(files, "README.md") {
		if file == "docs/cli.md" {
			continue // output of commands
		}
		text, err := os.ReadFile(filepath.Join("../..", filepath.FromSlash(file)))
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range commandLines(string(text)) {
			seen++
			if err := parses(line); err != nil {
				t.Errorf("%s: %s: %v", file, line, err)
			}
		}
	}
	if seen < 100 {
		t.Errorf("only %d command lines: the pattern fits too few", seen)
	}
}

// commandLines returns the command lines of sqluice in a page.
func commandLines(page string) []string {
	var list []string
	for _, fence := range markdown.Fences(page) {
		if fence.Language != "sh" {
			continue
		}
		for line := range strings.Lines(strings.ReplaceAll(fence.Text, "\\\n", " ")) {
			line = lineComment.ReplaceAllString(strings.TrimSuffix(line, "\n"), "")
			if at := strings.Index(line, "| sqluice "); at >= 0 {
				line = line[at+2:]
			}
			if strings.HasPrefix(line, "sqluice ") {
				list = append(list, line)
			}
		}
	}
	for _, match := range inlineCode.FindAllStringSubmatch(page, -1) {
		if !strings.Contains(match[1], "...") {
			list = append(list, match[1])
		}
	}
	return list
}

// parses reports whether the command exists and takes the flags of a command line. The programs of --exec need not be here, and a text
// may name the last flag without a value.
func parses(line string) error {
	words, err := splitWords(programName.ReplaceAllString(line, "$1=go"))
	if err != nil {
		return err
	}
	root := (&app{}).rootCommand()
	root.InitDefaultCompletionCmd()
	root.InitDefaultVersionFlag()
	root.InitDefaultHelpCmd()
	cmd, rest, err := root.Find(words[1:])
	if err != nil {
		return err
	}
	cmd.InitDefaultHelpFlag()
	if err := cmd.ParseFlags(rest); err != nil && !strings.HasPrefix(err.Error(), "flag needs an argument: "+words[len(words)-1]) {
		return err
	}
	if left := cmd.Flags().Args(); cmd.HasSubCommands() && len(left) > 0 {
		return unknownCommand(cmd, left[0])
	}
	return nil
}

func TestWrongCommandLinesAreFound(t *testing.T) {
	for line, bad := range map[string]bool{
		"sqluice list --user-id ada": false, "sqluice work --exec 'resize=./resize.sh' --drain": false, "sqluice update --in": false,
		"sqluice list --user ada": true, "sqluice lists": true, "sqluice wait 1 --timeout x": true,
	} {
		if err := parses(line); (err != nil) != bad {
			t.Errorf("%s: %v", line, err)
		}
	}
}
