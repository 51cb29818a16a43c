package limits

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// Name names a limit.
type Name struct {
	Scope, Name string
	Key         string // only of core.ScopeKind
}

// check checks the names of a limit.
func (n Name) check() error {
	field := "kind"
	if n.Scope == core.ScopeQueue {
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
	if v == (jobtype.LimitValues{}) {
		return jobtype.NewInvalidError("limit", "", "have a number of running jobs, a rate, a weight, a depth or an order: DeleteLimit removes it")
	}
	return checkScope(n.Scope, v)
}

// checkScope returns an error for a value that limits of the scope cannot have.
func checkScope(scope string, v jobtype.LimitValues) error {
	switch {
	case v.Weight > 0 && scope != core.ScopeKind:
		return jobtype.NewInvalidError("weight of the limit", strconv.Itoa(v.Weight), "be 0: only the keys of a kind have weights")
	case v.Depth > 0 && scope == core.ScopeTotal:
		return jobtype.NewInvalidError("depth of the limit", strconv.Itoa(v.Depth), "be 0: a key or a queue can have a depth, and not a whole kind")
	case v.Ordered && scope != core.ScopeKind:
		return jobtype.NewInvalidError("order of the limit", "", "not be given: only the jobs of a key of a kind have an order")
	}
	return nil
}

// CheckDeclared returns the first fault of the values of a declared limit of a scope.
func CheckDeclared(scope string, v jobtype.LimitValues) error {
	if err := Check(v); err != nil {
		return err
	}
	return checkScope(scope, v)
}

// bound is one that a value must keep.
type bound struct {
	ok                 bool
	field, value, must string
}

// firstFault returns an error for the first bound that is not kept.
func firstFault(bounds []bound) error {
	for _, b := range bounds {
		if !b.ok {
			return jobtype.NewInvalidError(b.field, b.value, b.must)
		}
	}
	return nil
}

// Check returns the first fault of the values of a limit.
func Check(v jobtype.LimitValues) error {
	r := v.Rate
	err := firstFault([]bound{
		{v.Running >= 0 && v.Running <= jobtype.MaxRunning, "running of the limit", strconv.Itoa(v.Running), "be from 1 to 1000000000, or 0 for any number"},
		{r.Starts >= 0 && r.Starts <= jobtype.MaxStarts, "starts of the rate", strconv.Itoa(r.Starts), "be from 1 to 1000000"},
		{r == jobtype.Rate{} || r.Starts > 0 && r.Period >= jobtype.MinRatePeriod && r.Period <= jobtype.MaxRatePeriod, "period of the rate", r.Period.String(), "be from 1ms to 24h, with at least one start"},
		{r.Period.Microseconds() >= int64(r.Starts), "rate", fmt.Sprintf("%d in %s", r.Starts, r.Period), "be at most one start in a microsecond"},
		{v.Burst >= 0 && v.Burst <= jobtype.MaxStarts, "burst of the limit", strconv.Itoa(v.Burst), "be from 1 to 1000000, or 0 for 1"},
		{v.Weight >= 0 && v.Weight <= jobtype.MaxWeight, "weight of the limit", strconv.Itoa(v.Weight), "be from 1 to 1000, or 0 for 1"},
		{v.Burst == 0 || r.Starts > 0, "burst of the limit", strconv.Itoa(v.Burst), "not be given without a rate"},
	})
	if err != nil {
		return err
	}
	return checkWaiting(v)
}

// checkWaiting returns the first fault of the values that concern the jobs that wait.
func checkWaiting(v jobtype.LimitValues) error {
	isWord := func(text string, words ...string) bool { return text == "" || slices.Contains(words, text) }
	onFull, onFail := string(v.OnFull), string(v.OnFail)
	return firstFault([]bound{
		{!v.Ordered || v.Running <= 1, "running of the limit", strconv.Itoa(v.Running), "be 1, or 0 for 1, where the jobs run in order"},
		{v.Depth >= 0 && v.Depth <= jobtype.MaxBacklog, "depth of the limit", strconv.Itoa(v.Depth), "be from 1 to 1000000000, or 0 for any number"},
		{isWord(onFull, "refuse", "drop"), "on-full of the limit", strconv.Quote(onFull), "be refuse or drop"},
		{onFull == "" || v.Depth > 0, "on-full of the limit", strconv.Quote(onFull), "not be given without a depth"},
		{isWord(onFail, "hold", "skip", "cancel"), "on-fail of the limit", strconv.Quote(onFail), "be hold, skip or cancel"},
		{onFail == "" || v.Ordered, "on-fail of the limit", strconv.Quote(onFail), "not be given without an order"},
	})
}
