package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
)

// sample holds the sizes at a time of a soak, in bytes.
type sample struct {
	at              time.Duration // since its beginning
	rss, wal, table int64
}

// sizes asks for the sizes of a database.
type sizes struct {
	path string
	conn *pgx.Conn // nil for SQLite, whose files are only read from outside
}

func newSizes(ctx context.Context, d database) (sizes, error) {
	s := sizes{path: d.path}
	if !isPostgres(d.path) {
		return s, nil
	}
	var err error
	s.conn, err = pgx.Connect(ctx, d.path)
	return s, err
}

func (s sizes) close() error {
	if s.conn == nil {
		return nil
	}
	return s.conn.Close(context.Background())
}

// watch takes samples of a process and the database until ctx ends.
func (s sizes) watch(ctx context.Context, process int) ([]sample, error) {
	begin := time.Now()
	ticker := time.NewTicker(soakEvery)
	defer ticker.Stop()
	var list []sample
	for {
		select {
		case <-ctx.Done():
			return list, nil
		case <-ticker.C:
		}
		one := sample{at: time.Since(begin), rss: residentBytes(process)}
		var err error
		if one.wal, one.table, err = s.database(context.WithoutCancel(ctx)); err != nil {
			return list, err
		}
		list = append(list, one)
	}
}

// database returns the size of the write-ahead log and of the jobs; SQLite's file holds little else.
func (s sizes) database(ctx context.Context) (wal, table int64, err error) {
	if s.conn == nil {
		wal, walErr := fileSize(s.path + "-wal")
		table, tableErr := fileSize(s.path)
		return wal, table, errors.Join(walErr, tableErr)
	}
	err = s.conn.QueryRow(ctx, `
SELECT CAST((SELECT COALESCE(SUM(size), 0) FROM pg_ls_waldir()) AS BIGINT), pg_total_relation_size('sqluice_jobs')`).Scan(&wal, &table)
	return wal, table, err
}

// fileSize returns 0 when the file does not exist.
func fileSize(path string) (int64, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
