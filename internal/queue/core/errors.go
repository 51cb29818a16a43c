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

// OnlyThisJob reports whether the error of a job's change concerns this job alone, so that other jobs can still be changed: it does not
// exist, its status does not allow the change, another job holds its unique key, or the database refuses its row.
func OnlyThisJob(err error) bool {
	return errors.Is(err, jobtype.ErrNotFound) || errors.Is(err, jobtype.ErrStatus) || errors.Is(err, jobtype.ErrUniqueTaken) ||
		errors.As(err, new(*jobtype.RefusedError))
}
