package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// look finds out, at the first connection, whether there is a pooler before the server. One gives its clients another
// number for their connection than the server's process id.
func (s *Store) look(ctx context.Context) error {
	s.mu.Lock()
	looked := s.looked
	s.mu.Unlock()
	if looked {
		return nil
	}
	conn, err := s.acquire(ctx)
	if err != nil {
		return translate(err)
	}
	defer conn.Release()
	var pid uint32
	w := newWatch(ctx, s.options.silence)
	err = w.end(conn.QueryRow(w.ctx, control("backend_pid"), pgx.QueryExecModeExec).Scan(&pid))
	if err != nil {
		return translate(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.looked {
		return nil
	}
	s.looked = true
	if pid == conn.Conn().PgConn().PID() && !s.options.pooled {
		return nil
	}
	s.unprepared.Store(true)
	if s.options.session == "" && !s.pooled.Swap(true) {
		s.options.logger.Warn("there is a pooler before the PostgreSQL server: polling for jobs, and telling by leases alone that a worker is gone; name the server itself with WithSession, or say pgbouncer=true to acknowledge this")
	}
	return nil
}
