package inspect

import (
	"slices"
	"testing"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

func TestUnrecorded(t *testing.T) {
	type ranges = []AttemptRange
	for _, test := range []struct {
		first, last int
		errors      []int // the attempts that failed
		want        ranges
	}{
		{1, 0, nil, nil},
		{1, 0, []int{0}, nil}, // it was not started in time
		{1, 3, nil, ranges{{1, 3}}},
		{1, 3, []int{1, 2, 3}, nil},
		{1, 3, []int{2}, ranges{{1, 1}, {3, 3}}},
		{1, 6, []int{3, 3, 4}, ranges{{1, 2}, {5, 6}}},
		{1, 2, []int{3}, ranges{{1, 2}}}, // the third one is the job's last, and failed
		{1, 2, []int{5}, ranges{{1, 2}}},
		{4, 6, []int{3, 5}, ranges{{4, 4}, {6, 6}}},
		{1, 3, []int{0, 2}, ranges{{1, 1}, {3, 3}}},
	} {
		var list []AttemptEnd
		for _, n := range test.errors {
			list = append(list, AttemptEnd{Attempt: n})
		}
		if have := unrecorded(test.first, test.last, list); !slices.Equal(have, test.want) {
			t.Errorf("%+v: %v", test, have)
		}
	}
}

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
