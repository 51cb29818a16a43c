//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/sqluice/sqluice/internal/test/history"
)

// laneForeign lets other programs, with another version of SQLite, open and close the database, write to it in long
// transactions, die in the middle of one, and read without end. Nothing is lost. The WAL grows only while a program
// reads, which the processes report, and then shrinks.
func laneForeign() lane {
	return lane{number: 6, name: "foreign programs", engines: []string{onSQLite}, run: foreignPrograms}
}

// The size of the lane. The jobs are so large that the WAL grows quickly.
const (
	foreignPad   = 60_000
	foreignHold  = 300 * time.Millisecond // of a transaction, at most
	foreignLong  = 7 * time.Second        // of one that is longer than a process waits for the lock
	walShrunk    = 64 << 20               // the size of the rest of a WAL that had to grow
	walSaid      = "the WAL grows"
	foreignBatch = 3 // jobs in a transaction
)

func foreignPrograms(ctx context.Context, t *trial) error {
	programs, err := foreigners()
	if err != nil {
		return err
	}
	rounds := t.scaled(30)
	if t.long {
		rounds = 2000
	}
	f, err := t.newFleet(ctx, filepath.Join(t.dir, "jobs.db"), "")
	if err != nil {
		return err
	}
	defer f.killAll()
	c, err := f.newCrew(foreignPad)
	if err != nil {
		return err
	}
	if err := c.goesOn(ctx); err != nil {
		return err
	}
	notes, err := history.Append(filepath.Join(t.dir, "history-foreign"), "foreign")
	if err != nil {
		return err
	}
	o := &outside{crew: c, programs: programs, notes: notes}
	for i := range rounds {
		if err := o.round(ctx, i); err != nil {
			return fmt.Errorf("round %d: %w", i, err)
		}
	}
	if t.long || rounds > 10 {
		if err := o.write(ctx, "long", foreignLong, true); err != nil {
			return err
		}
	}
	if err := o.pin(ctx); err != nil {
		return err
	}
	if err := c.goesOn(ctx); err != nil {
		return err
	}
	if err := notes.Close(); err != nil {
		return err
	}
	c.histories = append(c.histories, filepath.Join(t.dir, "history-foreign"))
	if err := c.finish(ctx); err != nil {
		return err
	}
	return o.sound(ctx)
}

// outside holds the actions of other programs on the database of a crew.
type outside struct {
	*crew
	programs []foreigner
	notes    *history.Writer
}

// round lets each program open the database, and one write.
func (o *outside) round(ctx context.Context, i int) error {
	random := o.trial.random
	for _, p := range o.programs {
		if _, err := p.run(ctx, o.address, statementOf("has_tables")); err != nil {
			return err
		}
		o.trial.count(0, 1)
	}
	hold := time.Duration(random.IntN(int(foreignHold)))
	if err := o.write(ctx, fmt.Sprint(i), hold, random.IntN(4) > 0); err != nil {
		return err
	}
	return o.busyFor(ctx, time.Duration(random.IntN(int(20*time.Millisecond))))
}

// write lets a program add jobs in a transaction that it keeps open for a while. The program then commits, or dies in
// it.
func (o *outside) write(ctx context.Context, name string, hold time.Duration, commits bool) error {
	what := history.Refused
	if commits {
		what = history.Acked
	}
	keys := make([]string, foreignBatch)
	for i := range keys {
		keys[i] = fmt.Sprintf("foreign %s/%d", name, i)
		if err := o.notes.Write(history.Event{What: history.Invoke, Key: keys[i]}); err != nil {
			return err
		}
	}
	s, err := startTalk(ctx, o.programs[len(o.programs)-1], o.address)
	if err != nil {
		return err
	}
	defer s.kill()
	rows, err := s.insert("foreign "+name, len(keys))
	if err != nil {
		return err
	}
	if err := o.busyFor(ctx, hold); err != nil {
		return err
	}
	if commits {
		err = s.end(statementOf("commit"))
	} else {
		s.kill()
	}
	if err != nil {
		return err
	}
	for _, key := range keys {
		e := history.Event{What: what, Key: key, Job: rows[key]}
		if !commits {
			e.Job = 0
		}
		if err := o.notes.Write(e); err != nil {
			return err
		}
	}
	o.trial.count(0, 1)
	return nil
}

// busyFor keeps the crew at work for the time of a fault.
func (c *crew) busyFor(ctx context.Context, d time.Duration) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(d); time.Now().Before(end); {
		if err := c.busy(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return nil
}

// pin lets a program read without end until each process has reported that the WAL grows. Then it waits until the WAL
// has shrunk.
func (o *outside) pin(ctx context.Context) error {
	s, err := startTalk(ctx, o.programs[len(o.programs)-1], o.address)
	if err != nil {
		return err
	}
	defer s.kill()
	if err := s.read(); err != nil {
		return err
	}
	err = o.each(ctx, "the growing WAL is told of", func(p *process, _ []history.Event) bool { return p.stderr.count(walSaid) > 0 })
	if err != nil {
		return fmt.Errorf("%w; the WAL has %d bytes", err, o.wal())
	}
	peak := o.wal()
	if err := s.end(statementOf("commit")); err != nil {
		return err
	}
	err = until(ctx, "the WAL has shrunk", func() (bool, error) { return o.wal() <= walShrunk, o.busy() })
	if err != nil {
		return fmt.Errorf("%w; it has %d bytes", err, o.wal())
	}
	o.trial.say("while a program read, the WAL grew to %d MiB, and has %d MiB after that", peak>>20, o.wal()>>20)
	o.trial.count(0, 1)
	return nil
}

// wal returns the size of the WAL, or 0 without one.
func (o *outside) wal() int64 {
	info, err := os.Stat(o.address + "-wal")
	if err != nil {
		return 0
	}
	return info.Size()
}

// sound lets the other programs check the database at the end.
func (o *outside) sound(ctx context.Context) error {
	for _, p := range o.programs {
		text, err := p.run(ctx, o.address, statementOf("integrity_check"))
		if err != nil {
			return err
		}
		if text != "ok" {
			o.trial.find(tally{other: []string{fmt.Sprintf("%s finds the database damaged: %s", p.name, text)}})
		}
	}
	return nil
}
