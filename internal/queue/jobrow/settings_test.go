package jobrow

import (
	"testing"
	"time"

	"github.com/sqluice/sqluice/jobs/jobtype"
)

func TestSettingsFillWhatTheJobLeavesOut(t *testing.T) {
	for name, c := range map[string]struct {
		kind Settings
		job  jobtype.Job
		want jobtype.Job
	}{
		"nothing is set": {
			want: jobtype.Job{MaxAttempts: 25, MaxAttemptsFrom: "default", TimeoutFrom: "default"},
		},
		"by the kind": {
			kind: Settings{MaxAttempts: 5, Timeout: time.Minute},
			want: jobtype.Job{MaxAttempts: 5, MaxAttemptsFrom: "kind", Timeout: time.Minute, TimeoutFrom: "kind"},
		},
		"by the job": {
			kind: Settings{MaxAttempts: 5, Timeout: time.Minute}, job: jobtype.Job{MaxAttempts: 2, Timeout: time.Second},
			want: jobtype.Job{MaxAttempts: 2, MaxAttemptsFrom: "job", Timeout: time.Second, TimeoutFrom: "job"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.kind.Fill(&c.job)
			if got := c.job; got.MaxAttempts != c.want.MaxAttempts || got.MaxAttemptsFrom != c.want.MaxAttemptsFrom ||
				got.Timeout != c.want.Timeout || got.TimeoutFrom != c.want.TimeoutFrom {
				t.Errorf("got %d (%s) and %v (%s)", got.MaxAttempts, got.MaxAttemptsFrom, got.Timeout, got.TimeoutFrom)
			}
		})
	}
}
