package postgres

import (
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

const codeNoDatabase = "3D000"

// connectionError states in one line why there is no connection: pgx's own text lists each attempt, with and without
// TLS. With several hosts each has its own cause.
type connectionError struct{ *pgconn.ConnectError }

func (e connectionError) Unwrap() error { return e.ConnectError }

func (e connectionError) Error() string {
	var hosts []string
	causes := map[string]string{}
	for _, a := range attempts(e.ConnectError) {
		if _, known := causes[a.host]; !known {
			hosts = append(hosts, a.host)
		}
		causes[a.host] = cause(a.err) // the last attempt is without TLS, or to the host's last address
	}
	var text string
	if len(hosts) == 1 && hosts[0] != "" {
		text = fmt.Sprintf("PostgreSQL at %s, database %s, user %s: %s", hosts[0], e.Config.Database, e.Config.User, causes[hosts[0]])
	} else {
		text = fmt.Sprintf("PostgreSQL, database %s, user %s", e.Config.Database, e.Config.User)
		separator := ": "
		for _, host := range hosts {
			text += separator
			if host != "" {
				text += "at " + host + ": "
			}
			text += causes[host]
			separator = "; "
		}
	}
	var server *pgconn.PgError
	if errors.As(e.ConnectError, &server) && server.Code == codeNoDatabase {
		text += ": make it first, as with createdb"
	}
	return text
}

// attempt is one try to connect. It has no host if it failed earlier, for example because the host name is unknown.
type attempt struct {
	host string // as the URL names it, with the port, or the folder of unix sockets
	err  error
}

// attempts returns the connections that pgx tried, in order: each address of each host, with TLS and without.
func attempts(err error) []attempt {
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		var list []attempt
		for _, one := range several.Unwrap() {
			list = append(list, attempts(one)...)
		}
		return list
	}
	inner := errors.Unwrap(err)
	if inner == nil {
		return []attempt{{err: err}}
	}
	// pgx's type for it is not exported: "address (host): what happened".
	where, ok := strings.CutSuffix(err.Error(), "): "+inner.Error())
	if address, host, found := strings.Cut(where, " ("); ok && found {
		if _, port, err := net.SplitHostPort(address); err == nil && !strings.HasPrefix(host, "/") {
			host = net.JoinHostPort(host, port)
		}
		return []attempt{{host, inner}}
	}
	if list := attempts(inner); len(list) > 1 || list[0].host != "" {
		return list
	}
	return []attempt{{err: err}}
}

// cause returns the reason of a failed attempt, in a few words.
func cause(err error) string {
	if refusedTLS(err) {
		return "the server does not offer TLS, which the URL's sslmode asks for"
	}
	for {
		var inner error
		switch e := err.(type) {
		case *pgconn.PgError:
			return e.Message
		case *net.OpError, *net.DNSError:
			return e.Error()
		case interface{ Unwrap() error }:
			inner = e.Unwrap()
		}
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
}

// refusedTLS reports whether a server said that it has no TLS.
func refusedTLS(err error) bool {
	return strings.HasSuffix(err.Error(), "server refused TLS connection") // pgx exports no error for it
}
