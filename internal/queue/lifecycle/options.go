package lifecycle

import (
	"errors"
	"fmt"

	"github.com/sqluice/sqluice/internal/queue/cipher"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// Options holds a caller's conditions and additions for a change.
type Options struct {
	Only   jobtype.Status // the status that the job must have; any when empty
	Detail any            // for the audit log; encodes to a JSON object
	Cipher *cipher.Cipher // for Update: encrypts a payload; nil for none
}

// only returns the status as a statement's parameter.
func (o Options) only() *string { return core.Optional(string(o.Only)) }

// check returns an error that is [jobtype.ErrStatus] when the job does not have the required status.
func (o Options) check(status jobtype.Status) error {
	if o.Only == "" || status == o.Only {
		return nil
	}
	return statusError(fmt.Sprintf("it is %s, not %s", status, o.Only))
}

// ErrUnchanged is returned when the job is already in the requested state.
var ErrUnchanged = errors.New("the job is in the requested state already")

// Refused reports whether an error only says that the job's state does not allow the change, or makes it unnecessary.
func Refused(err error) bool {
	return errors.Is(err, ErrUnchanged) || errors.Is(err, jobtype.ErrNotFound) || errors.Is(err, jobtype.ErrStatus) ||
		errors.Is(err, jobtype.ErrUniqueTaken)
}

// statusError is a [jobtype.ErrStatus] with the job's status in its text.
type statusError string

func (e statusError) Error() string        { return string(e) }
func (e statusError) Is(target error) bool { return target == jobtype.ErrStatus }
