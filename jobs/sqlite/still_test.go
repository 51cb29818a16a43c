package sqlite

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

// While nothing happens to its folder the database's files are not looked at with each write. Whatever happens to one of them
// happens to the folder too.
func TestFolderTellsWhatBecomesOfFiles(t *testing.T) {
	for name, spoil := range map[string]func(*testing.T, string){
		"deleted":     func(t *testing.T, path string) { must(t, os.Remove(path)) },
		"moved":       func(t *testing.T, path string) { must(t, os.Rename(path, path+".old")) },
		"replaced":    replace,
		"WAL deleted": func(t *testing.T, path string) { must(t, os.Remove(path+"-wal")) },
		"WAL moved":   func(t *testing.T, path string) { must(t, os.Rename(path+"-wal", path+".old")) },
		"WAL replaced": func(t *testing.T, path string) {
			must(t, os.WriteFile(path+".new", nil, 0o600))
			must(t, os.Rename(path+".new", path+"-wal"))
		},
		"index deleted": func(t *testing.T, path string) { must(t, os.Remove(path+"-shm")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, client := queue(t)
			waitUntilStill(t, store, client)
			store.writer.stmts.Lock()
			store.files.until = time.Now().Add(time.Hour) // the folder has to tell
			store.writer.stmts.Unlock()
			spoil(t, store.Path())
			if _, err := client.Enqueue(t.Context(), "k", json.RawMessage("{}")); !errors.Is(err, jobs.ErrReplaced) {
				t.Errorf("an enqueue gives %v", err)
			}
		})
	}
}

// What becomes of the folder itself is seen a little later: the files went with it, and hold what was acknowledged meanwhile.
func TestFolderMoved(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	must(t, os.Mkdir(dir, 0o700))
	store, client := queueAt(t, filepath.Join(dir, "jobs.db"))
	waitUntilStill(t, store, client)
	added := scan[int64](t, plain(t, store.Path()), "count_jobs")
	must(t, os.Rename(dir, dir+".old"))
	eventually(t, "an enqueue says so", func() bool {
		_, err := client.Enqueue(t.Context(), "k", json.RawMessage("{}"))
		if err == nil {
			added++
		}
		return errors.Is(err, jobs.ErrReplaced)
	})
	must(t, os.Rename(dir+".old", dir))
	if there := scan[int64](t, plain(t, store.Path()), "count_jobs"); there < added {
		t.Errorf("%d jobs were acknowledged, and %d are there", added, there)
	}
}

// The same files in another folder of the same name: the one that was opened tells nothing any more.
func TestFilesInAnotherFolder(t *testing.T) {
	for name, swap := range map[string]func(t *testing.T, dir, old string){
		"moved": func(t *testing.T, dir, old string) {
			must(t, os.Rename(dir, old))
			must(t, os.Mkdir(dir, 0o700))
			must(t, each(t, old, func(name string) error { return os.Rename(filepath.Join(old, name), filepath.Join(dir, name)) }))
		},
		"linked": func(t *testing.T, dir, old string) {
			other := dir + ".new"
			must(t, os.Mkdir(other, 0o700))
			must(t, each(t, dir, func(name string) error {
				if name == "jobs.db-sqluice" {
					return nil // a folder
				}
				return os.Link(filepath.Join(dir, name), filepath.Join(other, name))
			}))
			must(t, os.Rename(dir, old))
			must(t, os.Rename(other, dir))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "data")
			must(t, os.Mkdir(dir, 0o700))
			store, client := queueAt(t, filepath.Join(dir, "jobs.db"))
			waitUntilStill(t, store, client)
			swap(t, dir, dir+".old")
			eventually(t, "the folder that was opened is quiet", func() bool {
				return store.files.folder.now()-store.files.folder.changed() > stillFor.Nanoseconds()
			})
			enqueue(t, client, "k") // looks at the files
			must(t, os.Remove(store.Path()+"-wal"))
			must(t, os.Remove(store.Path()))
			if _, err := client.Enqueue(t.Context(), "k", json.RawMessage("{}")); !errors.Is(err, jobs.ErrReplaced) {
				t.Errorf("an enqueue gives %v", err)
			}
		})
	}
}

// each calls f with each name in a folder.
func each(t *testing.T, dir string, f func(name string) error) (err error) {
	t.Helper()
	list, err := os.ReadDir(dir)
	must(t, err)
	for _, entry := range list {
		err = errors.Join(err, f(entry.Name()))
	}
	return err
}

// waitUntilStill adds jobs until the folder alone is looked at.
func waitUntilStill(t *testing.T, store *Store, client *jobs.Client) {
	t.Helper()
	if store.files.folder.changed() == 0 {
		t.Skip("nothing is known of this file system's folders")
	}
	eventually(t, "the folder is still", func() bool {
		enqueue(t, client, "k")
		store.writer.stmts.Lock()
		defer store.writer.stmts.Unlock()
		return store.files.unmoved()
	})
}
