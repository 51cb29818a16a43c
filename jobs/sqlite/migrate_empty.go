package sqlite

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/pressly/goose/v3"
)

// migrateEmpty brings a database that holds nothing, or whose first migration was cut off, to the newest schema. It
// waits for a migration by another process, and leaves nothing beside a database that belongs to another program.
func (s *Store) migrateEmpty(ctx context.Context) error {
	done, err := s.isNewest(ctx)
	if done || err != nil {
		return err
	}
	empty, err := s.isEmpty(ctx)
	if err != nil {
		return err
	}
	if !empty {
		// A queue has its folder from its first migration on.
		if there, err := s.side.exists(migrateFile); !there || err != nil {
			return err
		}
	}
	unlock, err := s.lockFile(ctx, migrateFile)
	if err != nil {
		return err
	}
	defer unlock()
	if done, err = s.isNewest(ctx); done || err != nil {
		return err
	}
	if empty, err = s.isEmpty(ctx); err != nil {
		return err
	}
	unfinished, err := s.side.exists(unfinishedFile)
	if err != nil || !empty && !unfinished {
		return err
	}
	return s.migrateLocked(ctx, func(p *goose.Provider) error { return s.up(ctx, p, nil) })
}

func (s *Store) isNewest(ctx context.Context) (bool, error) {
	have, want, err := s.SchemaVersion(ctx)
	return err == nil && have == want, err
}

// isEmpty reports whether the database holds nothing that any program has put there.
func (s *Store) isEmpty(ctx context.Context) (bool, error) {
	var traces int64
	err := s.readDB.QueryRowContext(ctx, control("count_traces")).Scan(&traces)
	return traces == 0, translate(err)
}

// up runs all migrations that are missing and calls each for the name of each one that ran. While the first ones run a file
// of the side folder says so: whoever finds it after a kill may go on.
func (s *Store) up(ctx context.Context, p *goose.Provider, each func(name string)) error {
	have, _, err := s.SchemaVersion(ctx)
	if err != nil {
		return err
	}
	if have == 0 {
		file, err := s.side.open(unfinishedFile)
		if err != nil {
			return err
		}
		if err := file.Close(); err != nil {
			return err
		}
	}
	results, err := p.Up(ctx)
	for _, r := range results {
		if each != nil {
			each(filepath.Base(r.Source.Path))
		}
	}
	if err != nil {
		return err
	}
	return s.forgetUnfinished()
}

// forgetUnfinished removes the file that says that the first migration is under way.
func (s *Store) forgetUnfinished() error {
	file, err := s.side.openExisting(unfinishedFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(s.side.remove(unfinishedFile, file), file.Close())
}
