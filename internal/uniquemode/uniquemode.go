// Package uniquemode makes the option of a unique job from the fields of the command line and the HTTP API.
package uniquemode

import (
	"slices"
	"strconv"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// Choice holds a caller's values. Zero values are not given; at most one of Mode, Debounce and For may be, and only with a key.
type Choice struct {
	Key      string
	Mode     string // keep, replace, again or replace-running
	Debounce time.Duration
	AtMost   time.Duration // only with Debounce
	For      time.Duration
}

// Option returns the option, which is nil when nothing is given. Its error is an InvalidError that names the field.
func (c Choice) Option() (jobs.EnqueueOption, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	switch {
	case c.Debounce != 0:
		return jobs.Debounce(c.Key, c.Debounce, jobs.AtMost(c.AtMost)), nil
	case c.For != 0:
		return jobs.UniqueFor(c.Key, c.For), nil
	case c.Mode == "replace":
		return jobs.UniqueReplace(c.Key), nil
	case c.Mode == "again":
		return jobs.UniqueAgain(c.Key), nil
	case c.Mode == "replace-running":
		return jobs.UniqueReplaceRunning(c.Key), nil
	case c.Key != "":
		return jobs.Unique(c.Key), nil
	}
	return nil, nil
}

func (c Choice) check() error {
	given := 0
	for _, field := range []struct {
		name string
		is   bool
	}{{"unique mode", c.Mode != ""}, {"debounce time", c.Debounce != 0}, {"unique period", c.For != 0}} {
		if !field.is {
			continue
		}
		if given++; given > 1 {
			return jobtype.NewInvalidError(field.name, "", "not be given together with another way of being unique")
		}
		if c.Key == "" {
			return jobtype.NewInvalidError(field.name, "", "be given with a unique key")
		}
	}
	switch {
	case !slices.Contains([]string{"", "keep", "replace", "again", "replace-running"}, c.Mode):
		return jobtype.NewInvalidError("unique mode", strconv.Quote(c.Mode), "be keep, replace, again or replace-running")
	case c.AtMost != 0 && c.Debounce == 0:
		return jobtype.NewInvalidError("longest debounce", "", "be given with a debounce time")
	}
	return nil
}
