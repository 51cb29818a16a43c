package gates_test

import "testing"

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
