//go:build unix

package sqlite_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sqluice/sqluice/internal/test/conformance"
)

func TestDeadlines(t *testing.T) {
	conformance.RunDeadlines(t, opener(t), []conformance.Obstacle{
		{Name: "locked file", Writes: true, Block: lockFile},
		{Name: "held gate", Writes: true, Spares: "Client.Tx", Block: holdGate},
	})
}

// lockFile takes SQLite's write lock, as another program does.
func lockFile(t *testing.T, store conformance.Store) (release func()) {
	tx, err := store.Begin(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := tx.Rollback(); err != nil {
			t.Error(err)
		}
	}
}

// holdGate keeps the gate locked, as a stopped process does.
func holdGate(t *testing.T, store conformance.Store) (release func()) {
	file, err := os.OpenFile(filepath.Join(store.(engine).Path()+"-sqluice", "gate"), os.O_RDWR, 0)
	if err == nil {
		err = unix.Flock(int(file.Fd()), unix.LOCK_EX)
	}
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	}
}
