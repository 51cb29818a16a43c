package sqlite

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/sqluice/sqluice/jobs"
)

func TestOddFileNames(t *testing.T) {
	for _, name := range []string{
		"with space.db", "per%20cent.db", "100%.db", "question?.db", "ha#sh.db", "a&b=c.db", "plus+.db", "semi;colon.db",
		"quote'\".db", "unicode-ä-日本-\U0001F600.db", "file:odd.db", "colon:.db", "-dash.db", "no-extension", "back\\slash.db",
		"mode=memory", "%00.db",
	} {
		t.Run(name, func(t *testing.T) {
			if runtime.GOOS == "windows" {
				t.Skip("most of the names are not allowed here")
			}
			folder := t.TempDir()
			path := filepath.Join(folder, name)
			store, client := queueAt(t, path)
			id := enqueue(t, client, "k")
			if _, err := os.Stat(path); err != nil {
				t.Errorf("the file has another name: %v", err)
			}
			entries, err := os.ReadDir(folder)
			must(t, err)
			for _, entry := range entries {
				switch entry.Name() {
				case name, name + "-wal", name + "-shm", name + "-sqluice":
				default:
					t.Errorf("there is a file %q", entry.Name())
				}
			}
			_, again := queueAt(t, path, MustExist())
			if job, err := again.Get(t.Context(), id); err != nil || job.ID != id {
				t.Errorf("a second store does not see the job: %v", err)
			}
			must(t, client.Backup(t.Context(), filepath.Join(folder, "copy of "+name)))
			must(t, store.Close())
		})
	}
}

func TestLinksLeadToOneSideFolder(t *testing.T) {
	folder, away := t.TempDir(), t.TempDir()
	file := filepath.Join(away, "jobs.db")
	link, linkedFolder := filepath.Join(folder, "link.db"), filepath.Join(folder, "folder")
	must(t, os.Symlink(file, link)) // it leads nowhere yet
	must(t, os.Symlink(away, linkedFolder))
	first, client := queueAt(t, link)
	id := enqueue(t, client, "k")
	for _, path := range []string{file, link, filepath.Join(linkedFolder, "jobs.db")} {
		store, client := queueAt(t, path, MustExist())
		if store.path != first.path || store.side != first.side {
			t.Errorf("%s is %s with the side folder %s, not %s with %s", path, store.path, store.side.path, first.path, first.side.path)
		}
		if _, err := client.Get(t.Context(), id); err != nil {
			t.Error(err)
		}
	}
}

func TestRefusedPaths(t *testing.T) {
	folder := t.TempDir()
	text := filepath.Join(folder, "text")
	must(t, os.WriteFile(text, []byte("this is a text and has been one for as long as anybody remembers\n"), 0o600))
	for _, path := range []string{"", ":memory:", "file:x.db", folder, filepath.Join(folder, "no", "folder.db"), text} {
		if store, err := openBackend(t.Context(), path); err == nil {
			t.Errorf("%q can be opened", path)
			must(t, store.Close())
		}
	}
	if _, err := openBackend(t.Context(), filepath.Join(folder, "none.db"), MustExist()); err == nil {
		t.Error("a file that must exist need not")
	}
	if _, err := os.Stat(filepath.Join(folder, "none.db")); err == nil {
		t.Error("a refused open made a file")
	}
}

func TestNewOnAnApplicationsPool(t *testing.T) {
	store, client := queue(t)
	id := enqueue(t, client, "k")
	own, err := newBackend(t.Context(), plain(t, store.path))
	must(t, err)
	defer func() { must(t, own.Close()) }()
	if _, err := jobs.New(own).Get(t.Context(), id); err != nil {
		t.Error(err)
	}
	if _, err := newBackend(t.Context(), plain(t, ":memory:")); err == nil {
		t.Error("a pool in memory is taken")
	}
}
