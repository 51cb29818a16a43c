package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sqluice/sqluice/internal/faultvfs"
)

// What a small transaction appends to the WAL is one write, also beside another process, and in a WAL that begins anew.
func TestATransactionIsOneWrite(t *testing.T) {
	for name, durability := range map[string]Durability{"normal": Normal, "full": Full} {
		t.Run(name, func(t *testing.T) {
			disk, store, client := failing(t, WithDurability(durability))
			_, other := queueAt(t, store.Path(), WithDurability(durability))
			for range 2 {
				enqueue(t, client, "k")
				enqueue(t, other, "k")
				const n = 10
				disk.Count()
				for range n {
					enqueue(t, client, "k")
					enqueue(t, other, "k")
				}
				if seen := disk.Disarm(); seen.Ops[faultvfs.Write] != 2*n {
					t.Errorf("%d enqueues are %d writes", 2*n, seen.Ops[faultvfs.Write])
				}
				exec(t, plain(t, store.Path()), "begin_log_anew")
			}
		})
	}
}

// Whatever transactions do in two connections that gather their frames and one that does not, with a cache so small that pages
// go to the WAL before the commit, and with deaths at any moment: what was committed is there, and nothing else.
func TestFrames(t *testing.T) {
	for seed := range scripts() {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			newScript(t, t.TempDir(), seed).play()
		})
	}
}

// The same on a disk that fails now and then: a transaction that was told so has left nothing, then and later.
func TestFramesOnABadDisk(t *testing.T) {
	for seed := range scripts() {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			dir := t.TempDir()
			disk, err := faultvfs.Install(dir)
			must(t, err)
			t.Cleanup(func() { must(t, disk.Remove()) })
			s := newScript(t, dir, seed)
			s.disk = disk
			s.play()
			if s.failed < 10 {
				t.Errorf("%d transactions failed", s.failed)
			}
		})
	}
}

func scripts() uint64 {
	if testing.Short() {
		return 4
	}
	return 12
}

// script is a sequence of transactions by chance.
type script struct {
	*testing.T
	*rand.Rand
	path      string
	pools     []*sql.DB
	committed map[int]string
	disk      *faultvfs.FS // nil where it does not fail
	failed    int
}

func newScript(t *testing.T, dir string, seed uint64) *script {
	s := &script{T: t, Rand: rand.New(rand.NewPCG(seed, 0)), committed: map[int]string{}}
	s.path = filepath.Join(dir, "words.db")
	store, err := Open(t.Context(), s.path) // makes the VFS known, and the kind of locks that the images do not drop
	must(t, err)
	must(t, store.Close())
	synchronous := []string{"normal", "full"}[seed%2]
	ours := "&vfs=" + store.options.vfs
	for _, vfs := range []string{ours, ours, ""} {
		pool, err := sql.Open("sqlite", "file:"+s.path+"?_txlock=immediate&_pragma=journal_mode(wal)&_pragma=cache_size(5)"+
			"&_pragma=wal_autocheckpoint(0)&_pragma=synchronous("+synchronous+")"+vfs)
		must(t, err)
		pool.SetMaxOpenConns(1)
		t.Cleanup(func() { must(t, pool.Close()) })
		s.pools = append(s.pools, pool)
	}
	exec(t, s.pools[0], "create_words")
	return s
}

func (s *script) pool() *sql.DB { return s.pools[s.IntN(len(s.pools))] }

func (s *script) play() {
	const steps = 200
	for range steps {
		s.step()
		switch s.IntN(6) {
		case 0:
			exec(s.T, s.pool(), "checkpoint")
		case 1:
			exec(s.T, s.pool(), "begin_log_anew")
		case 2:
			s.die()
		default:
			must(s.T, s.same(s.pool(), s.committed))
		}
	}
}

// step is one transaction, during which the disk may fail.
func (s *script) step() {
	if s.disk != nil && s.IntN(2) == 0 {
		s.disk.Arm(faultvfs.Plan{Kind: faultvfs.Write, At: 1 + s.IntN(6), For: 1 + s.IntN(4), Fault: faultvfs.Fault(s.IntN(3))})
	}
	err := s.transaction()
	hits := 0
	if s.disk != nil {
		hits = s.disk.Disarm().Hits
	}
	if err != nil {
		if s.failed++; hits == 0 {
			s.Fatal(err)
		}
	}
}

// transaction writes so much that it may be more than the cache holds, or than is gathered, and now and then takes some of it back.
func (s *script) transaction() error {
	tx, err := s.pool().BeginTx(s.Context(), nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // which is all that is left to do, or nothing
	work, saved := maps.Clone(s.committed), map[int]string(nil)
	for range 1 + s.IntN(12) {
		switch s.IntN(10) {
		case 0:
			err, saved = s.run(tx, "savepoint"), maps.Clone(work)
		case 1:
			if saved != nil {
				err, work = s.run(tx, "rollback_to"), maps.Clone(saved)
			}
		case 2:
			err = s.same(tx, work)
		case 3:
			s.die()
		default:
			id, word := s.IntN(30), strings.Repeat(string(rune('a'+s.IntN(26))), 1+s.IntN(12_000))
			err, work[id] = s.run(tx, "put_word", id, word), word
		}
		if err != nil {
			return err
		}
	}
	if s.IntN(3) == 0 {
		return tx.Rollback()
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	s.committed = work
	return nil
}

func (s *script) run(tx *sql.Tx, name string, args ...any) error {
	_, err := tx.ExecContext(s.Context(), statement(s.T, name), args...)
	return err
}

type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// same holds what a connection sees against what it is to see.
func (s *script) same(q querier, want map[int]string) error {
	rows, err := q.QueryContext(s.Context(), statement(s.T, "list_words"))
	if err != nil {
		return err
	}
	defer rows.Close()
	have := map[int]string{}
	for rows.Next() {
		var id int
		var word string
		if err := rows.Scan(&id, &word); err != nil {
			return err
		}
		have[id] = word
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if !maps.Equal(have, want) {
		s.Errorf("there are other words than were written: %d, want %d", len(have), len(want))
	}
	return nil
}

// die looks at what would be found if all processes died now.
func (s *script) die() {
	pool, err := sql.Open("sqlite", "file:"+imageOf(s.T, s.path))
	must(s.T, err)
	defer func() { must(s.T, pool.Close()) }()
	if found := scan[string](s.T, pool, "integrity_check"); found != "ok" {
		s.Errorf("after a death: %s", found)
	}
	must(s.T, s.same(pool, s.committed))
}
