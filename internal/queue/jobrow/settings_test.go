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
			want: jobtype.Job{MaxAttempts: 25, MaxAttemptsFrom: jobtype.SettingDefault, TimeoutFrom: jobtype.SettingDefault},
		},
		"by the kind": {
			kind: Settings{MaxAttempts: 5, Timeout: time.Minute},
			want: jobtype.Job{MaxAttempts: 5, MaxAttemptsFrom: jobtype.SettingOfKind, Timeout: time.Minute, TimeoutFrom: jobtype.SettingOfKind},
		},
		"by the job": {
			kind: Settings{MaxAttempts: 5, Timeout: time.Minute}, job: jobtype.Job{MaxAttempts: 2, Timeout: time.Second},
			want: jobtype.Job{MaxAttempts: 2, MaxAttemptsFrom: jobtype.SettingOfJob, Timeout: time.Second, TimeoutFrom: jobtype.SettingOfJob},
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
