package admin_test

import (
	"os"
	"testing"

	"github.com/sqluice/sqluice/internal/test/testdb"
)

// shared is the PostgreSQL server of these tests.
var shared testdb.Shared

func TestMain(m *testing.M) { os.Exit(shared.Run(m)) }
