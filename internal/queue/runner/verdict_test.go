package runner

import (
	"errors"
	"strings"
	"testing"

	"github.com/sqluice/sqluice/jobs/jobtype"
)

func TestOutputError(t *testing.T) {
	cause := errors.New("exit status 1")
	err := Discard(&jobtype.OutputError{Err: cause, Output: "secret"})
	if !errors.Is(err, cause) || strings.Contains(err.Error(), "secret") {
		t.Errorf("the error is %v", err)
	}
}
