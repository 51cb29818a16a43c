package main

import (
	"strings"
	"testing"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

func jobsExpire(t *testing.T, c *cli) {
	until := c.enqueue("k", "--start-by", "2100-01-01T00:00:00+01:00")
	if job := c.show(until).Job; !job.StartBy.Equal(time.Date(2099, 12, 31, 23, 0, 0, 0, time.UTC)) {
		t.Errorf("the job is %+v", job)
	}
	c.ok("delete", until)
	id := c.enqueue("k", "--start-by", "1ms")
	eventually(t, "the time to start by has passed", func() bool { return !c.show(id).StartBy.After(time.Now()) })
	c.ok("work", "--drain", "--exec", execFlag(t, "k", "echo"))
	if job := c.show(id); job.Status != jobs.StatusCancelled || len(job.Errors) != 1 || job.Errors[0].Cause != jobs.CauseExpired {
		t.Errorf("the job is %+v", job)
	}
	if out := c.ok("show", id); !strings.Contains(out, "no attempt: expired") || !strings.Contains(out, "not started by ") {
		t.Errorf("show prints\n%s", out)
	}
	if out := c.ok("why", id); !strings.Contains(out, "it had to start by") {
		t.Errorf("why prints\n%s", out)
	}
}
