package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/test/faultvfs"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// failing opens a queue on a disk that can be made to fail.
func failing(t *testing.T, opts ...Option) (*faultvfs.FS, *backend, *jobs.Client) {
	t.Helper()
	dir := t.TempDir()
	disk, err := faultvfs.Install(dir)
	must(t, err)
	t.Cleanup(func() { must(t, disk.Remove()) })
	store, client := queueAt(t, filepath.Join(dir, "jobs.db"), opts...)
	enqueue(t, client, "before")
	return disk, store, client
}

// afterDeath opens the database as the next process finds it if this one dies now.
func afterDeath(t *testing.T, path string) *jobs.Client {
	t.Helper()
	_, client := queueAt(t, imageOf(t, path), MustExist())
	return client
}

// imageOf copies the database as it would be if all its processes died now.
func imageOf(t *testing.T, path string) string {
	t.Helper()
	image := filepath.Join(t.TempDir(), filepath.Base(path))
	for _, suffix := range []string{"", "-wal"} {
		data, err := os.ReadFile(path + suffix)
		must(t, err)
		must(t, os.WriteFile(image+suffix, data, 0o600))
	}
	return image
}

// When the sync of a commit fails, the transaction is in the WAL all the same. This process does not see it, but a process that
// opens the file after this one died does. So the outcome is unknown.
func TestACommitWhoseSyncFailsIsOfUnknownOutcome(t *testing.T) {
	disk, store, client := failing(t, WithDurability(Full))
	disk.Arm(faultvfs.Plan{Kind: faultvfs.Sync, At: 1})
	_, err := client.Enqueue(t.Context(), "k", json.RawMessage("{}"))
	if !errors.Is(err, jobs.ErrUnknownOutcome) || !errors.Is(err, jobs.ErrDisk) || !store.CanRetry(err) {
		t.Errorf("the enqueue gives %v", err)
	}
	if _, err := client.Get(t.Context(), 2); !errors.Is(err, jobs.ErrNotFound) {
		t.Errorf("this process sees a job that was rolled back: %v", err)
	}
	if job, err := afterDeath(t, store.path).Get(t.Context(), 2); err != nil || job.Kind != "k" {
		t.Errorf("after a death the job is %v, %v", job, err)
	}
	// The next write replaces it.
	if id := enqueue(t, client, "other"); id != 2 {
		t.Errorf("the next job is %d", id)
	}
	if job, err := afterDeath(t, store.path).Get(t.Context(), 2); err != nil || job.Kind != "other" {
		t.Errorf("after a death the job is %v, %v", job, err)
	}
}

// A fault before the commit of an insert that commits itself leaves no doubt.
func TestAnInsertThatFailsBeforeItsCommitHasFailed(t *testing.T) {
	disk, _, client := failing(t)
	disk.Arm(faultvfs.Plan{Kind: faultvfs.LockShared, At: 1})
	_, err := client.Enqueue(t.Context(), "k", json.RawMessage("{}"))
	if !errors.Is(err, jobs.ErrDisk) || errors.Is(err, jobs.ErrUnknownOutcome) {
		t.Errorf("the enqueue gives %v", err)
	}
	if seen := disk.Disarm(); seen.Hits != 1 {
		t.Errorf("the disk failed %d times", seen.Hits)
	}
	if id := enqueue(t, client, "other"); id != 2 {
		t.Errorf("the next job is %d", id)
	}
}

// A full disk is detected before the commit is in the WAL.
func TestACommitOnAFullDiskHasFailed(t *testing.T) {
	for _, fault := range []faultvfs.Fault{faultvfs.Full, faultvfs.Short} {
		disk, store, client := failing(t)
		disk.Arm(faultvfs.Plan{Kind: faultvfs.Write, At: 1, Fault: fault})
		_, err := client.Enqueue(t.Context(), "k", json.RawMessage("{}"))
		if !errors.Is(err, jobs.ErrFull) || errors.Is(err, jobs.ErrUnknownOutcome) {
			t.Errorf("%s: the enqueue gives %v", fault, err)
		}
		if _, err := afterDeath(t, store.path).Get(t.Context(), 2); !errors.Is(err, jobs.ErrNotFound) {
			t.Errorf("%s: a job that was refused is there: %v", fault, err)
		}
	}
}

// A group whose commit is in doubt is run again one by one. A write that then succeeds is committed. The outcome of a write that
// fails is unknown, whatever the second failure was: it may have been committed with the group.
func TestAGroupInDoubt(t *testing.T) {
	disk, store, _ := failing(t, WithDurability(Full))
	leading, lead := make(chan struct{}), make(chan struct{})
	results := make(chan error, 3)
	go func() {
		results <- store.Write(t.Context(), func(ctx context.Context, q db.Querier) error {
			close(leading)
			<-lead
			return add("leader")(ctx, q)
		})
	}()
	receive(t, "the leader", leading)
	runs := 0
	refusal := errors.New("not a second time")
	refused, taken := make(chan error, 1), make(chan error, 1)
	go func() {
		refused <- store.Write(t.Context(), func(ctx context.Context, q db.Querier) error {
			if runs++; runs > 1 {
				return refusal
			}
			return add("refused")(ctx, q)
		})
	}()
	go func() { taken <- store.Write(t.Context(), add("taken")) }()
	eventually(t, "two wait", func() bool {
		return queued(store) == 2
	})
	disk.Arm(faultvfs.Plan{Kind: faultvfs.Sync, At: 2}) // the leader's commit is the first
	close(lead)
	must(t, receive(t, "the leader's end", results))
	if err := receive(t, "the first one's end", refused); !errors.Is(err, refusal) || !errors.Is(err, jobs.ErrUnknownOutcome) {
		t.Errorf("what did not come through alone gives %v", err)
	}
	must(t, receive(t, "the second one's end", taken))
	if seen := disk.Disarm(); seen.Hits != 1 {
		t.Errorf("the disk failed %d times", seen.Hits)
	}
}

// A runner that starts while the disk fails waits for it, as for a full one.
func TestTheDiskFailsAtTheStart(t *testing.T) {
	disk, _, client := failing(t)
	const always = 1 << 30
	disk.Arm(faultvfs.Plan{Kind: faultvfs.LockShared, At: 1, For: always})
	log := &journal{}
	stop := work(t, client, jobs.Config{Logger: slog.New(log)}, map[string]func(context.Context, jobs.Job) error{"before": nothing})
	eventually(t, "the runner meets the fault", func() bool { return log.holds("the database is not ready") })
	if seen := disk.Disarm(); seen.Hits == 0 {
		t.Error("the disk did not fail")
	}
	if job := ended(t, client, 1); job.Status != jobs.StatusDone {
		t.Errorf("the job is %s", job.Status)
	}
	must(t, stop())
}

// The disk may have no room for the files beside the database.
func TestFaultsOfTheSystem(t *testing.T) {
	store, _ := queue(t)
	for number, want := range map[syscall.Errno]error{syscall.ENOSPC: jobs.ErrFull, syscall.EDQUOT: jobs.ErrFull, syscall.EIO: jobs.ErrDisk} {
		err := translateSystem(&os.PathError{Op: "open", Path: "gate", Err: number})
		if !errors.Is(err, want) || !errors.Is(err, number) || !store.CanRetry(err) {
			t.Errorf("%d is %v, worth another try: %t", number, err, store.CanRetry(err))
		}
	}
	if err := translateSystem(os.ErrPermission); store.CanRetry(err) {
		t.Errorf("%v is worth another try", err)
	}
}

// The end of an attempt whose commit has an unknown outcome is written again, and counts once.
func TestAnEndOfUnknownOutcomeIsWrittenAgain(t *testing.T) {
	disk, _, client := failing(t, WithDurability(Full))
	id := enqueue(t, client, "k")
	runner, err := jobs.NewRunner(client, jobs.Config{})
	must(t, err)
	calls := 0
	jobs.Kind[json.RawMessage]{Name: "k"}.Handle(runner, func(context.Context, jobs.Job, json.RawMessage) error {
		calls++
		disk.Arm(faultvfs.Plan{Kind: faultvfs.Sync, At: 1})
		return nil
	})
	done := make(chan error, 1)
	go func() { done <- runner.Drain(t.Context()) }()
	must(t, receive(t, "the drain's end", done))
	if seen := disk.Disarm(); seen.Hits != 1 {
		t.Fatalf("%d syncs failed", seen.Hits)
	}
	job, err := client.Get(t.Context(), id)
	must(t, err)
	if job.Status != jobs.StatusDone || job.Attempt != 1 || calls != 1 {
		t.Errorf("after %d calls the job is %s, attempt %d", calls, job.Status, job.Attempt)
	}
	wrong, err := inspect.New(client).Recount(t.Context())
	must(t, err)
	if wrong != 0 {
		t.Errorf("%d counts were wrong", wrong)
	}
}

// A lone insert commits itself. Whatever fails, and whenever, an acknowledged job is there after the death of the process, and a job whose
// insert has failed without doubt is not.
func TestALoneInsertUnderEachFault(t *testing.T) {
	for _, durability := range []Durability{Normal, Full} {
		disk, store, client := failing(t, WithDurability(durability))
		for kind := faultvfs.Read; kind <= faultvfs.LockShared; kind++ {
			for _, fault := range []faultvfs.Fault{faultvfs.Fail, faultvfs.Full, faultvfs.Short} {
				for at := 1; fault.Fits(kind); at++ {
					disk.Arm(faultvfs.Plan{Kind: kind, At: at, Fault: fault})
					name := fmt.Sprintf("%s %s %d, durability %v", kind, fault, at, durability)
					_, err := client.Enqueue(t.Context(), "k", json.RawMessage("{}"), jobs.UserID(name))
					hits := disk.Disarm().Hits
					n := len(jobsOf(t, afterDeath(t, store.path), name))
					switch {
					case err == nil && n != 1:
						t.Errorf("%s: the enqueue was acknowledged, and %d jobs are there", name, n)
					case err != nil && !errors.Is(err, jobs.ErrUnknownOutcome) && n != 0:
						t.Errorf("%s: the enqueue gives %v, and %d jobs are there", name, err, n)
					}
					if hits == 0 {
						break
					}
				}
			}
		}
		enqueue(t, client, "after")
	}
}

// jobsOf returns the ids of a user's jobs.
func jobsOf(t *testing.T, client *jobs.Client, user string) (ids []int64) {
	t.Helper()
	list, err := inspect.New(client).List(t.Context(), inspect.Filter{UserID: user})
	must(t, err)
	for _, job := range list {
		ids = append(ids, job.ID)
	}
	return ids
}
