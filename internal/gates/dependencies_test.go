package gates_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// usable are the licences that linked code may have: they require only that their text is kept.
func usable() []string { return []string{"MIT", "BSD-2-Clause", "BSD-3-Clause", "Apache-2.0"} }

// direct are the modules that go.mod requires itself.
func direct(t *testing.T) []string {
	t.Helper()
	var list []string
	for line := range strings.Lines(read(t, "go.mod")) {
		if found := regexp.MustCompile(`^\t(\S+) v\S+\n$`).FindStringSubmatch(line); found != nil {
			list = append(list, found[1])
		}
	}
	if len(list) < 5 {
		t.Fatalf("go.mod names only %q", list)
	}
	return list
}

func TestDependenciesAreExplained(t *testing.T) {
	rows := map[string][]string{}
	for line := range strings.Lines(read(t, "docs/dependencies.md")) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if len(cells) == 5 && cells[0] != "module" && !strings.HasPrefix(cells[0], "---") {
			rows[cells[0]] = cells
			if slices.Contains(cells, "") {
				t.Errorf("docs/dependencies.md leaves out something of %s", cells[0])
			}
		}
	}
	if want, got := slices.Sorted(slices.Values(direct(t))), slices.Sorted(maps.Keys(rows)); !slices.Equal(want, got) {
		t.Errorf("go.mod names\n%s\ndocs/dependencies.md\n%s", strings.Join(want, "\n"), strings.Join(got, "\n"))
	}
	// A new machine has only the modules that were needed so far, and a module without a folder seems to have no
	// licence.
	download := exec.CommandContext(t.Context(), "go", append([]string{"mod", "download"}, direct(t)...)...)
	download.Dir = root(t)
	if output, err := download.CombinedOutput(); err != nil {
		t.Fatalf("go mod download: %v\n%s", err, output)
	}
	folders := listed(t, "list", "-m", "-f", "{{.Path}}|{{.Dir}}", "all")
	for module, cells := range rows {
		if got := licence(t, folders[module]); got != cells[3] {
			t.Errorf("the licence of %s is %q, in docs/dependencies.md it is %q", module, got, cells[3])
		}
	}
}

func TestLicencesOfWhatIsLinked(t *testing.T) {
	folders := listed(t, "list", "-deps", "-f", "{{with .Module}}{{.Path}}|{{.Dir}}{{end}}", "./...")
	if len(folders) < 20 {
		t.Fatalf("only %d modules are linked", len(folders))
	}
	for module, folder := range folders {
		if got := licence(t, folder); !slices.Contains(usable(), got) {
			t.Errorf("%s is linked, and its licence is %q: one of %q is needed", module, got, usable())
		}
	}
}

// listed returns the folders of modules that go list names.
func listed(t *testing.T, args ...string) map[string]string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", args...)
	command.Dir = root(t)
	output, err := command.Output()
	if err != nil {
		t.Fatalf("go %q: %v", args, err)
	}
	folders := map[string]string{}
	for line := range strings.Lines(string(output)) {
		if module, folder, ok := strings.Cut(strings.TrimSpace(line), "|"); ok {
			folders[module] = folder
		}
	}
	return folders
}

// licence returns the licence in a module's folder, by its text.
func licence(t *testing.T, folder string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "LICENSE*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(file), ".txt"), ".md")
		if name != "LICENSE" {
			continue // of parts
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return licenceOf(string(text))
	}
	return ""
}

// licenceOf uses the first match: some files add the licence of a part at the end, or mention others.
func licenceOf(text string) string {
	text = strings.ToLower(strings.Join(strings.Fields(text), " "))
	first, found := len(text), ""
	for _, licence := range []struct{ name, says string }{
		{"MIT", "permission is hereby granted, free of charge"},
		{"BSD-2-Clause", "redistribution and use in source and binary forms"},
		{"Apache-2.0", "apache license version 2.0"},
		{"MPL-2.0", "mozilla public license version 2.0"},
		{"GNU", "gnu general public license"}, {"GNU", "gnu lesser general public license"}, {"GNU", "gnu affero general public license"},
	} {
		if at := strings.Index(text, licence.says); at >= 0 && at < first {
			first, found = at, licence.name
		}
	}
	if found == "BSD-2-Clause" && (strings.Contains(text, "neither the name") || strings.Contains(text, "names of its contributors")) {
		return "BSD-3-Clause"
	}
	return found
}

func TestLicencesAreTold(t *testing.T) {
	for text, want := range map[string]string{
		"MIT License\n\nPermission is hereby\ngranted, free of charge, to":                                        "MIT",
		"Redistribution and use in source and binary forms ... Neither the name of":                               "BSD-3-Clause",
		"Redistribution and use in source and binary forms, with":                                                 "BSD-2-Clause",
		"Apache License\n Version 2.0, January 2004":                                                              "Apache-2.0",
		"GNU GENERAL PUBLIC LICENSE\nVersion 3":                                                                   "GNU",
		"Mozilla Public License Version 2.0\n... GNU General Public License":                                      "MPL-2.0",
		"Apache License\nVersion 2.0\n... Redistribution and use in source and binary forms ... Neither the name": "Apache-2.0",
		"All rights reserved": "",
	} {
		if got := licenceOf(text); got != want {
			t.Errorf("%q is taken for %q, want %q", text, got, want)
		}
	}
}
