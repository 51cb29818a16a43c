package prune

import (
	"fmt"
	"strings"
	"time"

	"github.com/sqluice/sqluice/jobs/jobtype"
)

// OriginCode is the origin of the rules that programs declare.
const OriginCode = "code"

// The bounds of the time of a rule.
const (
	shortest = time.Second
	longest  = 100 * 365 * 24 * time.Hour
)

// CheckKeep returns an InvalidError for a time that a rule cannot have.
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

// KeepText returns a time as people write it: 90d, 1d12h, 1h30m, forever.
func KeepText(keep time.Duration) string {
	const day = 24 * time.Hour
	if keep == Forever {
		return "forever"
	}
	if keep < time.Minute {
		return keep.String()
	}
	var text string
	if days := keep / day; days > 0 {
		text = fmt.Sprintf("%dd", days)
	}
	if rest := keep % day; rest > 0 {
		part := strings.Replace(rest.String(), "h0m", "h", 1)
		if strings.HasSuffix(part, "m0s") || strings.HasSuffix(part, "h0s") {
			part = strings.TrimSuffix(part, "0s")
		}
		text += part
	}
	return text
}
