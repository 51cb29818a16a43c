package postgres

import (
	"fmt"

	"github.com/jackc/pgx/v5"
)

// utf8Encoding is PostgreSQL's name of UTF-8, in which databases must store texts and connections must send them.
const utf8Encoding = "UTF8"

// useUTF8 makes connections of a configuration use UTF-8, whatever the role, the database or the environment sets.
func useUTF8(config *pgx.ConnConfig) {
	config.RuntimeParams["client_encoding"] = utf8Encoding
}

// checkServerEncoding returns an error unless a database stores texts in UTF-8. Other encodings cannot store every
// payload, and SQL_ASCII stores bytes that are not text.
func checkServerEncoding(name string) error {
	if name == utf8Encoding {
		return nil
	}
	return fmt.Errorf("the database's encoding is %s and must be UTF8: create a database with ENCODING 'UTF8' TEMPLATE template0", name)
}

// checkClientEncoding returns an error unless a connection sends and receives UTF-8. An application's own connection may
// not, because of its role or database, and the library must not change that setting.
func checkClientEncoding(name string) error {
	if name == utf8Encoding {
		return nil
	}
	return fmt.Errorf("the connection's client_encoding is %s and must be UTF8: add client_encoding=UTF8 to the URL of the application's pool", name)
}

// checkConnEncoding calls checkClientEncoding for a connection. It sends no query: the server reports the setting.
func checkConnEncoding(conn *pgx.Conn) error {
	return checkClientEncoding(conn.PgConn().ParameterStatus("client_encoding"))
}
