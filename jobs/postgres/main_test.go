package postgres

import (
	"os"
	"testing"

	"github.com/sqluice/sqluice/internal/test/testdb"
)

// SharedServer is the server of the tests that do not stop theirs.
var SharedServer testdb.Shared

func TestMain(m *testing.M) { os.Exit(SharedServer.Run(m)) }
