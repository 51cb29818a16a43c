package admin

import (
	"testing"

	"github.com/sqluice/sqluice/jobs"
)

// A page shows rows that were written without the CHECKs, also one without a status.
func TestTitleOfAStatus(t *testing.T) {
	for status, want := range map[jobs.Status]string{"": "", jobs.StatusDone: "Done", "x": "X"} {
		if got := title(status); got != want {
			t.Errorf("the title of %q is %q, not %q", status, got, want)
		}
	}
}
