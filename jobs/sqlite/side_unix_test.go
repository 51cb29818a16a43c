//go:build unix

package sqlite

import (
	"errors"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
)

// trap replaces a file of the side folder, as a user may who can write beside the database.
type trap struct {
	name string
	set  func(at string, v victim) error
}

// victim is a file and a folder outside that no use of the database may change, and a name that stays free.
type victim struct{ file, folder, free string }

func traps() []trap {
	return []trap{
		{"link to a file", func(at string, v victim) error { return os.Symlink(v.file, at) }},
		{"link to a folder", func(at string, v victim) error { return os.Symlink(v.folder, at) }},
		{"link to nothing", func(at string, v victim) error { return os.Symlink(v.free, at) }},
		{"hard link", func(at string, v victim) error { return os.Link(v.file, at) }},
		{"FIFO", func(at string, _ victim) error { return syscall.Mkfifo(at, 0o666) }},
		{"folder", func(at string, _ victim) error { return os.Mkdir(at, 0o755) }},
		{"device", func(at string, _ victim) error { return syscall.Mknod(at, syscall.S_IFCHR|0o666, 1<<8|3) }}, // that of /dev/null
	}
}

const (
	attackedVariable = "SQLUICE_ATTACKED_AS_OTHER" // set in the process that runs the attacks as another user
	otherUserID      = 65534
	oldKey           = "aaaaaaaaaaaaaaaaaaaaaaaaaa"
)

// Nothing outside the side folder is created, changed, removed or waited for, whatever replaces the folder or a file in
// it: neither when root uses a database of another user nor when a user does.
func TestSideFolderAttacks(t *testing.T) {
	for _, place := range []string{"", gateFile, bellFile, migrateFile, unfinishedFile, workerLock(oldKey)} {
		for _, trap := range traps() {
			t.Run(place+" "+trap.name, func(t *testing.T) { attack(t, place, trap) })
		}
	}
	if os.Geteuid() == 0 && os.Getenv(attackedVariable) == "" {
		t.Run("as another user", attackAsOther)
	}
}

func attack(t *testing.T, place string, trap trap) {
	outside, inside := t.TempDir(), t.TempDir()
	v := victim{filepath.Join(outside, "file"), filepath.Join(outside, "folder"), filepath.Join(outside, "free")}
	must(t, os.WriteFile(v.file, []byte("precious"), 0o600))
	must(t, os.Mkdir(v.folder, 0o700))
	long := time.Now().Add(-48 * time.Hour)
	must(t, os.Chtimes(v.file, long, long)) // old enough for a sweep

	path := filepath.Join(inside, "jobs.db")
	must(t, os.WriteFile(path, nil, 0o666))
	must(t, os.Chmod(path, 0o666))
	if os.Geteuid() == 0 {
		must(t, errors.Join(os.Chown(inside, otherUserID, otherUserID), os.Chown(path, otherUserID, otherUserID)))
	}
	at := path + "-sqluice"
	if place != "" {
		must(t, os.Mkdir(at, 0o777))
		at = filepath.Join(at, place)
	}
	if err := trap.set(at, v); errors.Is(err, os.ErrPermission) {
		t.Skip("this user may not make a " + trap.name) // only root may create a device
	} else {
		must(t, err)
	}
	if trap.name == "hard link" {
		must(t, os.Chtimes(v.file, long, long))
	}
	before := look(t, v.file) + look(t, v.folder)

	done := make(chan error, 1)
	go func() { done <- use(t, path) }()
	select {
	case err := <-done:
		if err != nil && !strings.Contains(err.Error(), at) {
			t.Errorf("the refusal does not name %s: %v", at, err)
		}
	case <-time.After(hang):
		t.Fatal("the database waits for what is not its own")
	}
	if after := look(t, v.file) + look(t, v.folder); after != before {
		t.Errorf("outside was\n%snow is\n%s", before, after)
	}
	if text, err := os.ReadFile(v.file); err != nil || string(text) != "precious" {
		t.Errorf("the file outside holds %q, %v", text, err)
	}
	if _, err := os.Lstat(v.free); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file was created outside: %v", err)
	}
	if entries, err := os.ReadDir(v.folder); err != nil || len(entries) > 0 {
		t.Errorf("the folder outside holds %v, %v", entries, err)
	}
}

// look returns the mode, the owner and the number of names of a file.
func look(t *testing.T, path string) string {
	t.Helper()
	info, err := os.Lstat(path)
	must(t, err)
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		t.Fatal("the system does not tell the owner of a file")
	}
	return strings.Join([]string{info.Name(), info.Mode().String(), "of", itoa(stat.Uid), itoa(stat.Gid), "names", itoa(uint32(stat.Nlink))}, " ") + "\n"
}

func itoa(n uint32) string { return strconv.FormatUint(uint64(n), 10) }

// use makes all calls that use the side folder.
func use(t *testing.T, path string) error {
	store, err := openBackend(t.Context(), path, MigrateEmpty())
	if err != nil {
		return err
	}
	client := jobs.New(store)
	var errs []error
	_, err = client.Migrate(t.Context())
	errs = append(errs, err)
	wake, stop := store.Listen(core.WorkReady, nil)
	_, err = client.Enqueue(t.Context(), "k", []byte(`{}`))
	if err == nil {
		<-wake
	}
	stop()
	_, release, err := store.WorkerLocks().HoldWorkerLock(t.Context())
	if errs = append(errs, err); err == nil {
		errs = append(errs, release(true))
	}
	state, done, err := store.WorkerLocks().TakeWorkerLock(t.Context(), oldKey)
	if errs = append(errs, err); state == engine.LockTaken {
		done()
	}
	return errors.Join(append(errs, store.Close())...)
}

// attackAsOther runs the same attacks in a process of another user.
func attackAsOther(t *testing.T) {
	folder, err := os.MkdirTemp("", "sqluice-attack-")
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(folder)) })
	self, err := os.Executable()
	must(t, err)
	program, err := os.ReadFile(self)
	must(t, err)
	copied := filepath.Join(folder, "test")
	must(t, errors.Join(os.WriteFile(copied, program, 0o755), os.Chown(folder, otherUserID, otherUserID)))
	cmd := osexec.CommandContext(t.Context(), copied, "-test.run=^TestSideFolderAttacks$", "-test.v")
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), attackedVariable+"=1", "TMPDIR="+folder, "HOME="+folder)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: otherUserID, Gid: otherUserID}}
	said, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(said), "PASS") {
		t.Errorf("%v\n%s", err, said)
	}
}

// The key in a worker's row is a part of a file's name. A row by plain SQL cannot lead out of the folder.
func TestKeysOfRowsLeadNowhere(t *testing.T) {
	store, _ := queue(t)
	key, release, err := store.WorkerLocks().HoldWorkerLock(t.Context())
	must(t, err)
	outside := filepath.Join(filepath.Dir(store.path), "victim.lock")
	must(t, os.WriteFile(outside, nil, 0o600))
	must(t, os.MkdirAll(filepath.Join(store.side.path, "worker-x"), 0o755))
	for _, key := range []string{
		"", ".", "..", "x/../../victim", "/etc/passwd", "../worker-" + key, key + "/", strings.ToUpper(key), key + "\x00", strings.Repeat("a", 27), strings.Repeat("\u00e4", 13),
	} {
		if state, _, err := store.WorkerLocks().TakeWorkerLock(t.Context(), key); state != engine.LockMissing || err != nil {
			t.Errorf("the lock of the key %q is %d, %v", key, state, err)
		}
	}
	if _, err := os.Stat(outside); err != nil {
		t.Error(err)
	}
	must(t, release(true))
}

// Files of the folder get the database's mode, whatever the umask, and its owner, so that its other users can work.
func TestNewSideFilesAreLikeTheDatabase(t *testing.T) {
	for _, mode := range []os.FileMode{0o600, 0o640, 0o664, 0o666} {
		path := filepath.Join(t.TempDir(), "jobs.db")
		must(t, os.WriteFile(path, nil, 0o600))
		must(t, os.Chmod(path, mode))
		if os.Geteuid() == 0 {
			must(t, os.Chown(path, otherUserID, otherUserID))
		}
		must(t, use(t, path))
		entries, err := os.ReadDir(path + "-sqluice")
		must(t, err)
		if len(entries) == 0 {
			t.Error("there are no files")
		}
		for _, entry := range append(entries, nil) {
			file, want := path+"-sqluice", mode|mode&0o444>>2
			if entry != nil {
				file, want = filepath.Join(file, entry.Name()), mode
			}
			info, err := os.Stat(file)
			must(t, err)
			if info.Mode().Perm() != want {
				t.Errorf("the mode of %s is %s, not %s", file, info.Mode().Perm(), want)
			}
			if stat, ok := info.Sys().(*syscall.Stat_t); !ok || os.Geteuid() == 0 && stat.Uid != otherUserID {
				t.Errorf("%s does not belong to the database's owner", file)
			}
		}
	}
}

// In a folder with the setgid bit, files get the group of the folder. So do the files of the side folder, also when root
// creates them for its own database.
func TestSideFilesInheritTheGroupOfASetgidFolder(t *testing.T) {
	folder := t.TempDir()
	if os.Geteuid() == 0 {
		must(t, os.Chown(folder, 0, otherUserID))
	}
	must(t, os.Chmod(folder, 0o770|os.ModeSetgid))
	path := filepath.Join(folder, "jobs.db")
	must(t, os.WriteFile(path, nil, 0o660))
	must(t, use(t, path))
	database, err := os.Stat(path)
	must(t, err)
	side, err := os.Stat(path + "-sqluice")
	must(t, err)
	if side.Mode()&os.ModeSetgid == 0 {
		t.Errorf("the mode of the side folder is %s", side.Mode())
	}
	for _, name := range []string{"", gateFile, bellFile, migrateFile} {
		info, err := os.Stat(filepath.Join(path+"-sqluice", name))
		must(t, err)
		if group(t, info) != group(t, database) {
			t.Errorf("the group of %s is %d, that of the database %d", info.Name(), group(t, info), group(t, database))
		}
	}
}

func group(t *testing.T, info os.FileInfo) uint32 {
	t.Helper()
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		t.Fatal("the system does not tell the group of a file")
	}
	return stat.Gid
}

// An existing file keeps its mode and owner: another user may have put it there.
func TestOldSideFilesKeepTheirMode(t *testing.T) {
	store, _ := queue(t)
	gate := filepath.Join(store.side.path, bellFile)
	must(t, os.WriteFile(gate, nil, 0o600))
	must(t, os.Chmod(gate, 0o640))
	must(t, use(t, store.path))
	info, err := os.Stat(gate)
	must(t, err)
	if info.Mode().Perm() != 0o640 {
		t.Errorf("the mode is %s", info.Mode().Perm())
	}
}
