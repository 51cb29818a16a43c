package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// look finds out, at the first connection, whether the database can hold a queue, and whether there is a pooler before the
// server. A pooler gives its clients another number for their connection than the server's process id.
func (s *backend) look(ctx context.Context) error {
	s.mu.Lock()
	looked := s.looked
	s.mu.Unlock()
	if looked {
		return nil
	}
	var pid, said uint32
	var encoding string
	err := s.rerun(ctx, func() error {
		conn, err := s.acquire(ctx)
		if err != nil {
			return err
		}
		defer conn.Release()
		said = conn.Conn().PgConn().PID()
		w := newWatch(ctx, s.options.silence)
		return w.end(conn.QueryRow(w.ctx, control("backend"), pgx.QueryExecModeExec).Scan(&pid, &encoding))
	})
	if err == nil {
		err = checkServerEncoding(encoding)
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.looked {
		return nil
	}
	s.looked = true
	if pid == said && !s.options.pooled {
		return nil
	}
	s.unprepared.Store(true)
	if s.options.session == "" && !s.pooled.Swap(true) {
		s.options.logger.Warn("there is a pooler before the PostgreSQL server: polling for jobs, and telling by leases alone that a worker is gone; connect to the server itself, name it beside the pooler with WithSession, or say pgbouncer=true in the URL")
	}
	return nil
}
