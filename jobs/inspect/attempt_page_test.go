package inspect

import (
	"testing"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

// A job expires after its last attempt was released, also within the same microsecond; a failed attempt ends before its job is cancelled.
func TestEndsAtTheSameTimeAreInOrder(t *testing.T) {
	at := time.UnixMicro(1)
	for _, causes := range [][2]jobs.Cause{{jobs.CauseReleased, jobs.CauseExpired}, {jobs.CauseError, jobs.CauseCancelled}} {
		var page AttemptPage
		for _, cause := range causes {
			end := AttemptEnd{Attempt: 1, Cause: cause, EndedAt: at}
			if cause == jobs.CauseReleased || cause == jobs.CauseCancelled {
				page.Others = append(page.Others, end)
			} else {
				page.Failed = append(page.Failed, end)
			}
		}
		if ends := page.Ends(); len(ends) != 2 || ends[0].Cause != causes[0] || ends[1].Cause != causes[1] {
			t.Errorf("ends: %v, not in the order %v", ends, causes)
		}
	}
}
