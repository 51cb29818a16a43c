package sqlite

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A file that can be reached by two names has two WALs.
func TestAFileWithTwoNamesIsRefused(t *testing.T) {
	store, _ := queue(t)
	must(t, store.Close())
	must(t, os.Link(store.path, filepath.Join(filepath.Dir(store.path), "other.db")))
	if _, err := openBackend(t.Context(), store.path); err == nil || !strings.Contains(err.Error(), "hard links") {
		t.Errorf("the open gives %v", err)
	}
}

func TestAFileThatIsMountedAloneIsRefused(t *testing.T) {
	store, _ := queue(t)
	must(t, store.Close())
	path := filepath.Join(t.TempDir(), "jobs.db")
	must(t, os.WriteFile(path, nil, 0o600))
	mount(t, store.path, path)
	if _, err := openBackend(t.Context(), path); err == nil || !strings.Contains(err.Error(), "mount the folder instead") {
		t.Errorf("the open gives %v", err)
	}

	folder := t.TempDir() // the supported way
	mount(t, filepath.Dir(store.path), folder)
	whole, err := openBackend(t.Context(), filepath.Join(folder, "jobs.db"), MustExist())
	must(t, err)
	must(t, whole.Close())
}

func mount(t *testing.T, from, to string) {
	t.Helper()
	err := unix.Mount(from, to, "", unix.MS_BIND, "")
	if err == unix.EPERM {
		t.Skip("this user may not mount")
	}
	must(t, err)
	t.Cleanup(func() { must(t, unix.Unmount(to, 0)) })
}
