package core

import (
	"database/sql"
	"errors"

	"github.com/sqluice/sqluice/jobs/jobtype"
)

// NotFound returns [jobtype.ErrNotFound] for sql.ErrNoRows, and any other error as it is.
func NotFound(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return jobtype.ErrNotFound
	}
	return err
}
