package limits

import (
	"fmt"
	"strconv"

	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// Name names a limit.
type Name struct {
	Scope, Name string
	Key         string // only of ScopeKind
}

// check checks the names of a limit.
func (n Name) check() error {
	field := "kind"
	if n.Scope == ScopeQueue {
		field = "queue"
	}
	if err := core.ValidateName(field, n.Name); err != nil || n.Key == "" {
		return err
	}
	return core.ValidateName("limit key", n.Key)
}

// checkSet checks the values that are set for a limit.
func (n Name) checkSet(v jobtype.LimitValues) error {
	if err := n.check(); err != nil {
		return err
	}
	if err := Check(v); err != nil {
		return err
	}
	switch {
	case v == jobtype.LimitValues{}:
		return jobtype.NewInvalidError("limit", "", "have a number of running jobs, a rate or a weight: DeleteLimit removes it")
	case v.Weight > 0 && n.Scope != ScopeKind:
		return jobtype.NewInvalidError("weight of the limit", strconv.Itoa(v.Weight), "be 0: only the keys of a kind have weights")
	}
	return nil
}

// Check returns the first fault of the values of a limit.
func Check(v jobtype.LimitValues) error {
	r := v.Rate
	for _, bound := range []struct {
		ok                 bool
		field, value, must string
	}{
		{v.Running >= 0 && v.Running <= jobtype.MaxRunning, "running of the limit", strconv.Itoa(v.Running), "be from 1 to 1000000000, or 0 for any number"},
		{r.Starts >= 0 && r.Starts <= jobtype.MaxStarts, "starts of the rate", strconv.Itoa(r.Starts), "be from 1 to 1000000"},
		{r == jobtype.Rate{} || r.Starts > 0 && r.Period >= jobtype.MinRatePeriod && r.Period <= jobtype.MaxRatePeriod, "period of the rate", r.Period.String(), "be from 1ms to 24h, with at least one start"},
		{r.Period.Microseconds() >= int64(r.Starts), "rate", fmt.Sprintf("%d in %s", r.Starts, r.Period), "be at most one start in a microsecond"},
		{v.Burst >= 0 && v.Burst <= jobtype.MaxStarts, "burst of the limit", strconv.Itoa(v.Burst), "be from 1 to 1000000, or 0 for 1"},
		{v.Weight >= 0 && v.Weight <= jobtype.MaxWeight, "weight of the limit", strconv.Itoa(v.Weight), "be from 1 to 1000, or 0 for 1"},
		{v.Burst == 0 || r.Starts > 0, "burst of the limit", strconv.Itoa(v.Burst), "not be given without a rate"},
	} {
		if !bound.ok {
			return jobtype.NewInvalidError(bound.field, bound.value, bound.must)
		}
	}
	return nil
}
