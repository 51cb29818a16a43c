package gates_test

import (
	"go/parser"
	"go/token"
	"testing"
)

// Every mark is found in each kind of file, and plain sentences have none.
func TestMarksAreFound(t *testing.T) {
	bad := map[string]string{
		"a.go":     "package a\n\n// What is left is to\n// be removed.\nvar x int\n",
		"b.go":     "package a\n\nfunc toldNobody() {}\n",
		"c.go":     "package a\n\nvar x int // somebody else's\n",
		"a.md":     "A title\n\nThe lock is free. Who\nwaits gets it.\n",
		"b.md":     "## Who waits\n",
		"c.md":     "| a | Whoever asks |\n",
		"a.sql":    "SELECT 1; -- as ever\n",
		"b.sql":    "-- There is no\n-- news of it.\n",
		"a.sh":     "echo # at the most\n",
		"Makefile": "help: ## For who reads it\n",
		"a.ts":     "// Such a one.\n",
	}
	for name, text := range bad {
		if len(textFaults(t, name, text)) != 1 {
			t.Errorf("%s: %q has marks %q, not one", name, text, textFaults(t, name, text))
		}
	}
	good := map[string]string{
		"a.go":  "package a\n\n// A caller who waits gets it, and says who it is.\nvar x = \"nobody is to be told\"\n",
		"a.md":  "Run `id -u nobody`:\n\n```\nnobody # is to be\n```\n\nA user who reads it. Whole jobs.\n",
		"a.sql": "SELECT 'nobody'; -- the name of a user\n",
		"a.txt": "nobody\n",
	}
	for name, text := range good {
		if faults := textFaults(t, name, text); len(faults) > 0 {
			t.Errorf("%s: %q", name, faults)
		}
	}
}

// A doc comment without a noun is found at each kind of declaration, and one with a verb or a noun is not.
func TestDocCommentsWithoutANounAreFound(t *testing.T) {
	for text, want := range map[string]int{
		"// f is that of a job.\nfunc f() {}":                                   1,
		"// f is\n// whether it runs.\nfunc (x T) f() {}":                       1,
		"// T are those that wait.\ntype T struct{}":                            1,
		"// most is how many jobs one statement claims.\nconst most = 1":        1,
		"const (\n// most is how long it waits.\nmost = 1\n)":                   1,
		"var (\n// a is when it ends.\na int\n// b is why.\nb int\n)":           2,
		"type T struct {\n// A is where it stands.\nA int\n}":                   1,
		"type T interface {\n// F is what it does.\nF()\n}":                     1,
		"// f returns what it is told.\nfunc f() {}":                            0,
		"// f reports whether x is how it was.\nfunc f() {}":                    0,
		"// most is the number of jobs. It is what one claims.\nconst most = 1": 0,
		"// g is how it begins.\nfunc f() {}":                                   0,
		"func f() {}":                                                           0,
	} {
		set := token.NewFileSet()
		tree, err := parser.ParseFile(set, "", "package a\n\n"+text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if faults := docFaults(set, tree); len(faults) != want {
			t.Errorf("%q has the faults %v, not %d", text, faults, want)
		}
	}
}

func textFaults(t *testing.T, name, text string) []string {
	t.Helper()
	read := passagesOf(name)
	if read == nil {
		return nil
	}
	passages, err := read(text)
	if err != nil {
		t.Fatal(err)
	}
	var faults []string
	for _, p := range passages {
		faults = append(faults, faultsIn(p.text)...)
	}
	return faults
}
