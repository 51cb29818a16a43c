package gates_test

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// usable returns the licences that linked code may have: they require only that their text is kept.
func usable() []string { return []string{"MIT", "BSD-2-Clause", "BSD-3-Clause", "Apache-2.0"} }

// direct returns the modules that the go.mod of a folder requires itself.
func direct(t *testing.T, folder string) []string {
	t.Helper()
	edit := exec.CommandContext(t.Context(), "go", "mod", "edit", "-json")
	edit.Dir = filepath.Join(root(t), folder)
	text, err := edit.Output()
	if err != nil {
		t.Fatalf("go mod edit -json: %v", err)
	}
	var file struct {
		Require []struct {
			Path     string
			Indirect bool
		}
		Tool []struct{ Path string }
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, required := range file.Require {
		tool := slices.ContainsFunc(file.Tool, func(tool struct{ Path string }) bool { return within(required.Path, tool.Path) })
		if !required.Indirect || tool {
			list = append(list, required.Path)
		}
	}
	return list
}

// within reports whether a package's or module's path begins with that of a module.
func within(module, path string) bool { return strings.HasPrefix(path+"/", module+"/") }

// inner returns the folders of modules inside this one.
func inner() []string {
	return []string{"bench", "examples/recipes", "internal/test/browser", "internal/checks", "internal/test/deploy", "internal/test/install", "metrics/promql"}
}

// explained returns the rows of docs/dependencies.md by module.
func explained(t *testing.T) map[string][]string {
	t.Helper()
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
	return rows
}

func TestDependenciesAreExplained(t *testing.T) {
	used := users(t)
	for _, folder := range inner() {
		for _, required := range direct(t, folder) {
			if required != module && used[required] == "" {
				used[required] = folder
			}
		}
	}
	rows := explained(t)
	for required, by := range used {
		// A module that is released in parts stands in the table once.
		part := slices.ContainsFunc(slices.Collect(maps.Keys(rows)), func(row string) bool { return row != required && within(row, required) })
		if row, found := rows[required]; !found && !part {
			t.Errorf("docs/dependencies.md has no row for %s, which %s uses", required, by)
		} else if found && row[1] != by {
			t.Errorf("docs/dependencies.md says that %s is used by %q: it is %q", required, row[1], by)
		}
	}
	for named := range rows {
		if used[named] == "" {
			t.Errorf("docs/dependencies.md has a row for %s, which no go.mod requires", named)
		}
	}
}

// users returns the modules that go.mod requires itself and, as docs/dependencies.md has them, the packages that import them.
func users(t *testing.T) map[string]string {
	t.Helper()
	modules := direct(t, ".")
	if len(modules) < 5 {
		t.Fatalf("go.mod names only %q", modules)
	}
	used := map[string]string{}
	packages, tests := map[string][]string{}, map[string]bool{}
	imported := func(path string) string {
		longest := ""
		for _, candidate := range modules {
			if within(candidate, path) && len(candidate) > len(longest) {
				longest = candidate
			}
		}
		return longest
	}
	list := exec.CommandContext(t.Context(), "go", "list", "-f",
		`{{.ImportPath}}|{{join .Imports " "}}|{{join .TestImports " "}} {{join .XTestImports " "}}`, "./...")
	list.Dir = root(t)
	output, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for line := range strings.Lines(string(output)) {
		parts := strings.Split(strings.TrimSpace(line), "|")
		name := strings.TrimPrefix(parts[0], module+"/")
		if strings.HasPrefix(name, "internal/queue/") {
			name = "jobs"
		}
		for path := range strings.FieldsSeq(parts[1]) {
			if strings.HasPrefix(name, "internal/") || strings.HasPrefix(name, "examples/") {
				tests[imported(path)] = true
			} else {
				packages[imported(path)] = append(packages[imported(path)], name)
			}
		}
		for path := range strings.FieldsSeq(parts[2]) {
			tests[imported(path)] = true
		}
	}
	for _, required := range modules {
		slices.Sort(packages[required])
		used[required] = strings.Join(slices.Compact(packages[required]), ", ")
		if used[required] == "" {
			used[required] = "tool"
			if tests[required] {
				used[required] = "tests"
			}
		}
	}
	return used
}

func TestLicencesOfDependencies(t *testing.T) {
	rows := explained(t)
	for _, folder := range append([]string{"."}, inner()...) {
		var told []string
		for _, required := range direct(t, folder) {
			if rows[required] != nil {
				told = append(told, required)
			}
		}
		// A new machine has only the modules that were needed so far, and a module without a folder seems to have no
		// licence.
		download := exec.CommandContext(t.Context(), "go", append([]string{"mod", "download"}, told...)...)
		download.Dir = filepath.Join(root(t), folder)
		if output, err := download.CombinedOutput(); err != nil {
			t.Fatalf("go mod download: %v\n%s", err, output)
		}
		folders := listed(t, folder, append([]string{"list", "-m", "-f", "{{.Path}}|{{.Dir}}"}, told...)...)
		for _, required := range told {
			if got := licence(t, folders[required]); got != rows[required][3] {
				t.Errorf("the licence of %s is %q, in docs/dependencies.md it is %q", required, got, rows[required][3])
			}
		}
	}
}

func TestLicencesOfWhatIsLinked(t *testing.T) {
	folders := listed(t, ".", "list", "-deps", "-f", "{{with .Module}}{{.Path}}|{{.Dir}}{{end}}", "./...")
	if len(folders) < 20 {
		t.Fatalf("only %d modules are linked", len(folders))
	}
	for module, folder := range folders {
		if got := licence(t, folder); !slices.Contains(usable(), got) {
			t.Errorf("%s is linked, and its licence is %q: one of %q is needed", module, got, usable())
		}
	}
}

// listed returns the folders of modules that go list names, in a folder of the repository.
func listed(t *testing.T, folder string, args ...string) map[string]string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", args...)
	command.Dir = filepath.Join(root(t), folder)
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
	files, err := filepath.Glob(filepath.Join(folder, "[Ll][Ii][Cc][Ee][Nn][Ss][Ee]*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(file), ".txt"), ".md")
		if !strings.EqualFold(name, "LICENSE") {
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
