package install

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

const path = "github.com/sqluice/sqluice"

// root returns the module's folder.
func root(t *testing.T) string {
	t.Helper()
	folder, err := filepath.Abs("../../..")
	must(t, err)
	return folder
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// release packs the working tree of the module into a folder that serves as a proxy, and returns its version and an environment in which
// the go command takes it from there, and all other modules from their usual places. The version is a new one each time, since the go
// command keeps downloaded versions for ever. The test removes it at its end.
func release(t *testing.T) (version string, env []string) {
	t.Helper()
	version = fmt.Sprintf("v0.0.0-0.installed.%d", time.Now().UnixNano())
	proxy := t.TempDir()
	folder := filepath.Join(proxy, filepath.FromSlash(path), "@v")
	must(t, os.MkdirAll(folder, 0o755))
	packed, err := os.Create(filepath.Join(folder, version+".zip"))
	must(t, err)
	must(t, zip.CreateFromDir(packed, module.Version{Path: path, Version: version}, root(t)))
	must(t, packed.Close())
	info, err := json.Marshal(map[string]any{"Version": version, "Time": time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)})
	must(t, err)
	must(t, os.WriteFile(filepath.Join(folder, version+".info"), info, 0o644))
	must(t, os.WriteFile(filepath.Join(folder, "list"), []byte(version+"\n"), 0o644))
	file, err := os.ReadFile(filepath.Join(root(t), "go.mod"))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(folder, version+".mod"), file, 0o644))

	settings := strings.Fields(goCommand(t, nil, root(t), "env", "GOPROXY", "GOMODCACHE"))
	cache := settings[1]
	forget := func() {
		kept := filepath.Join(cache, filepath.FromSlash(path)+"@"+version)
		if err := exec.Command("chmod", "-R", "u+w", kept).Run(); err != nil {
			t.Errorf("make %s removable: %v", kept, err)
		}
		must(t, os.RemoveAll(kept))
		if parent := filepath.Dir(kept); len(glob(t, filepath.Join(parent, "*"))) == 0 {
			must(t, os.Remove(parent))
		}
		kept = filepath.Join(cache, "cache", "download", filepath.FromSlash(path), "@v")
		for _, file := range append(glob(t, filepath.Join(kept, version+".*")), glob(t, filepath.Join(kept, "list"))...) { // of the versions
			must(t, os.Remove(file))
		}
	}
	t.Cleanup(forget)
	return version, append(os.Environ(), "GOPROXY=file://"+filepath.ToSlash(proxy)+","+settings[0], "GONOSUMDB="+path, "GOWORK=off", "GOFLAGS=")
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	list, err := filepath.Glob(pattern)
	must(t, err)
	return list
}

// goCommand runs the go command, which must succeed, and returns its output.
func goCommand(t *testing.T, env []string, folder string, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", args...)
	command.Dir, command.Env = folder, env
	var errs strings.Builder
	command.Stderr = &errs
	output, err := command.Output()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, errs.String())
	}
	return string(output)
}
