package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// queryRow reads the one row of a statement of sql/control, which is prepared unless the arguments are those of [once].
func (s *connections) queryRow(ctx context.Context, name string, args []any, values ...any) error {
	if err := s.look(ctx); err != nil {
		return err
	}
	for n := 1; ; n++ {
		err := s.ask(ctx, func(ctx context.Context, conn *lentConn) error {
			return conn.QueryRow(ctx, s.names.qualify(control(name)), args...).Scan(values...)
		})
		if n == endedMost || !endedByServer(err) || ctx.Err() != nil {
			return err
		}
	}
}

// endedMost is the number of times that one of the library's own short queries is sent when the server ends it: a busy server may take
// longer than a role's short statement_timeout.
const endedMost = 5

func (s *connections) query(ctx context.Context, value any, name string, args ...any) error {
	return s.queryRow(ctx, name, once(args...), value)
}

// look checks, at the first connection, whether the database can hold a queue, and whether a pooler is in front of the
// server: a pooler gives its clients a connection number other than the server's process id.
func (s *connections) look(ctx context.Context) error {
	s.looking.Lock()
	looked := s.looked
	s.looking.Unlock()
	if looked {
		return nil
	}
	var pid, said uint32
	var encoding, version string
	err := s.ask(ctx, func(ctx context.Context, conn *lentConn) error {
		said = conn.Conn().PgConn().PID()
		return conn.QueryRow(ctx, control("backend"), pgx.QueryExecModeExec).Scan(&pid, &encoding, &version)
	})
	if err == nil {
		err = errors.Join(checkServerSessions(version), checkServerEncoding(encoding))
	}
	if err != nil {
		return err
	}
	sessions := pid != said && !s.options.pooled && s.options.session == "" && sessions{s}.poolsSessions(ctx)
	s.looking.Lock()
	defer s.looking.Unlock()
	if s.looked {
		return nil
	}
	s.looked = true
	s.sessions.Store(sessions)
	if pid == said && !s.options.pooled || sessions {
		return nil
	}
	s.unprepared.Store(true)
	if s.options.session == "" && !s.pooled.Swap(true) {
		s.options.logger.Warn("there is a pooler before the PostgreSQL server: polling for jobs, and telling by leases alone that a worker is gone; connect to the server itself, name it beside the pooler with WithSession, or say pgbouncer=true in the URL")
	}
	return nil
}

// errOneSession refuses a server whose clients share one session: their transactions would mix, and each would hold the others' locks.
var errOneSession = errors.New("the server is PGlite, whose clients all share one session, where the queue needs a session for each connection: " +
	"connect to a PostgreSQL server, or use SQLite (jobs/sqlite), which needs no server")

// checkServerSessions returns an error if the server's version shows that its clients share one session. PGlite is PostgreSQL compiled for
// WebAssembly, where a server has one process; older releases name the compiler alone.
func checkServerSessions(version string) error {
	lower := strings.ToLower(version)
	if strings.Contains(lower, "pglite") || strings.Contains(lower, "emscripten") {
		return errOneSession
	}
	return nil
}

// heardWithin is the longest time that a notification may take from one client of a pooler to another.
const heardWithin = time.Second

// poolsSessions reports whether the pooler in front of the server leaves each client its own connection to the server, as PgBouncer
// does in session mode. There an idle client receives notifications. If this cannot be determined, it returns false.
func (s sessions) poolsSessions(ctx context.Context) bool {
	own, err := s.hearsNotifications(ctx)
	if err != nil {
		s.conns.options.logger.Debug("cannot find out how the pooler gives out connections", "error", translate(err))
	}
	return own
}

func (s sessions) hearsNotifications(ctx context.Context) (heard bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	var clients [2]*pgx.Conn
	var backends [2]uint32
	for i := range clients {
		if clients[i], err = s.connectAsPool(ctx); err != nil {
			return false, err
		}
		defer closeSoon(ctx, clients[i]) // nothing is open on it
		if err := clients[i].QueryRow(ctx, control("backend"), pgx.QueryExecModeExec).Scan(&backends[i], nil, nil); err != nil {
			return false, err
		}
	}
	if backends[0] == backends[1] {
		return false, nil
	}
	hearing, telling := clients[0], clients[1]
	channel := "sqluice_probe_" + strings.ToLower(rand.Text())
	if _, err := hearing.Exec(ctx, controlOn("listen", channel), pgx.QueryExecModeSimpleProtocol); err != nil {
		return false, err
	}
	if _, err := telling.Exec(ctx, control("notify"), once(channel, "")...); err != nil {
		return false, err
	}
	waiting, stop := context.WithTimeout(ctx, heardWithin)
	defer stop()
	if _, err = hearing.WaitForNotification(waiting); err == nil {
		return true, nil
	}
	if waiting.Err() != nil && ctx.Err() == nil {
		// The pooler's connection listens now, probably the same server connection.
		_, err = telling.Exec(ctx, controlOn("unlisten", channel), pgx.QueryExecModeSimpleProtocol)
	}
	return false, err
}
