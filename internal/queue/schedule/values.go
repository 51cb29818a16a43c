package schedule

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/sqluice/sqluice/jobs/jobtype"
)

// Subject is the subject of the declarations of schedules.
const Subject = "schedule"

// The values of a schedule's origin.
const (
	OriginClient = "client" // any worker serves it
	OriginCode   = "code"   // only workers that declare it serve it
)

// The values of a schedule's catch_up; [CatchUpAll] is followed by a number.
const (
	CatchUpLatest = "latest"
	CatchUpNone   = "none"
	CatchUpAll    = "all:"
)

// maxTicks returns the largest number of ticks due at once that get a job each.
func maxTicks(catchUp string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(catchUp, CatchUpAll))
	if err != nil {
		return 1
	}
	return n
}

// The values of a schedule's overlap.
const (
	OverlapAllow   = "allow"
	OverlapSkip    = "skip"
	OverlapReplace = "replace"
	OverlapAfter   = "after"
)

// CheckCatchUp returns an error for a value that a schedule's catch_up cannot have.
func CheckCatchUp(value string) error {
	n, all := strings.CutPrefix(value, CatchUpAll)
	number, err := strconv.Atoi(n)
	if value == CatchUpLatest || value == CatchUpNone || all && err == nil && number >= 1 && number <= catchUpMost && strconv.Itoa(number) == n {
		return nil
	}
	return jobtype.NewInvalidError("catch-up", strconv.Quote(value), fmt.Sprintf("be latest, none, or all:N with N from 1 to %d", catchUpMost))
}

// CheckOverlap returns an error for a value that a schedule's overlap cannot have.
func CheckOverlap(value string) error {
	switch value {
	case OverlapAllow, OverlapSkip, OverlapReplace, OverlapAfter:
		return nil
	}
	return jobtype.NewInvalidError("overlap", strconv.Quote(value), "be allow, skip, replace or after")
}

// catchUpMost is the largest number of missed ticks that get a job each.
const catchUpMost = 999
