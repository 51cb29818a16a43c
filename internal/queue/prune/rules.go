package prune

import (
	"fmt"
	"time"

	"github.com/sqluice/sqluice/jobs/jobtype"
)

// OriginCode is the origin of the rules that come from programs.
const OriginCode = "code"

// The bounds of the time of a rule.
const (
	shortest = time.Second
	longest  = 100 * 365 * 24 * time.Hour
)

// CheckKeep returns an InvalidError for a time that no rule may have.
func CheckKeep(keep time.Duration) error {
	if keep == Forever || keep >= shortest && keep <= longest {
		return nil
	}
	return jobtype.NewInvalidError("keep", keep.String(), fmt.Sprintf("be from %s to %s, or Forever", shortest, longest))
}

// KeepColumn returns the value of a rule's column for a time: microseconds, nil for Forever.
func KeepColumn(keep time.Duration) *int64 {
	if keep == Forever {
		return nil
	}
	n := keep.Microseconds()
	return &n
}

// KeepOf returns the time of a rule's column: the inverse of KeepColumn.
func KeepOf(column *int64) time.Duration {
	if column == nil {
		return Forever
	}
	return time.Duration(*column) * time.Microsecond
}

// KeepText returns a time as people read it.
func KeepText(keep time.Duration) string {
	if keep == Forever {
		return "forever"
	}
	return keep.String()
}
