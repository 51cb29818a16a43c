package sqlite

import (
	"context"
	"errors"
	"io/fs"

	"github.com/pressly/goose/v3"
)

// migrateEmpty migrates an empty database, or one whose first migration was interrupted, to the newest schema. It waits
// for a migration by another process, and leaves nothing beside a database that belongs to another program.
func (s *migrator) migrateEmpty(ctx context.Context) error {
	done, err := s.isNewest(ctx)
	if err != nil {
		return err
	}
	if done {
		return s.forgetLeft(ctx)
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
	unlock, err := s.side.lock(ctx, migrateFile)
	if err != nil {
		return err
	}
	defer unlock()
	if done, err = s.isNewest(ctx); err != nil {
		return err
	}
	if done {
		return s.forgetUnfinished()
	}
	if empty, err = s.isEmpty(ctx); err != nil {
		return err
	}
	if !empty {
		unfinished, err := s.isUnfinished(ctx)
		if err != nil || !unfinished {
			return err
		}
	}
	_, err = s.migrateLocked(ctx, false, func(p *goose.Provider) error {
		_, err := s.up(ctx, p)
		return err
	})
	return err
}

func (s *migrator) isNewest(ctx context.Context) (bool, error) {
	found, err := s.Schema(ctx)
	return err == nil && found.Check() == nil, err
}

// isUnfinished reports whether a first migration was interrupted. Its first step creates goose's table: without that table
// the mark belongs to an earlier database of the same name.
func (s *migrator) isUnfinished(ctx context.Context) (bool, error) {
	marked, err := s.side.exists(unfinishedFile)
	if err != nil || !marked {
		return false, err
	}
	has, err := tablesOf(ctx, s.readDB)
	return has.versions, err
}

// isEmpty reports whether the database holds nothing that a program has created.
func (s *migrator) isEmpty(ctx context.Context) (bool, error) {
	traces, err := ask[int64](ctx, s.readDB, "count_traces")
	return traces == 0, err
}

// forgetLeft removes the mark of a completed first migration whose process was killed before it removed the mark. With
// the mark, a newer version of this library would migrate the database without being asked.
func (s *migrator) forgetLeft(ctx context.Context) error {
	there, err := s.side.exists(unfinishedFile)
	if err != nil || !there {
		return ignorePermission(err)
	}
	unlock, err := s.side.lock(ctx, migrateFile)
	if err != nil {
		return ignorePermission(err)
	}
	defer unlock()
	return ignorePermission(s.forgetUnfinished())
}

// ignorePermission returns nil for a file that this user may not open: another user of the database removes the mark.
func ignorePermission(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	return err
}
