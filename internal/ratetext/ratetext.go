// Package ratetext reads and writes rates as people write them, such as 10/s: on the command line and on pages.
package ratetext

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

const day = 24 * time.Hour

// units are the periods without a number.
var units = map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour, "d": day, "1d": day}

// Parse returns the rate of a text: a number of starts, a slash and a time, such as 10/s, 100/m, 5/30s, 1000/h or 1000/d. Its error is a
// phrase that follows "must".
func Parse(text string) (jobs.Rate, error) {
	count, every, found := strings.Cut(text, "/")
	starts, err := strconv.Atoi(count)
	if !found || err != nil && !errors.Is(err, strconv.ErrRange) {
		return jobs.Rate{}, errors.New("be a number of starts and a time, such as 10/s, 100/m, 5/30s or 1000/d")
	}
	if err != nil || starts < 1 || starts > jobtype.MaxStarts {
		return jobs.Rate{}, fmt.Errorf("have from 1 to %d starts", jobtype.MaxStarts)
	}
	period, err := parsePeriod(every)
	switch {
	case err != nil:
		return jobs.Rate{}, err
	case period < jobtype.MinRatePeriod || period > jobtype.MaxRatePeriod:
		return jobs.Rate{}, errors.New("have a time from 1ms to 1d, such as 10/s, 100/m, 5/30s or 1000/d")
	case period.Microseconds() < int64(starts):
		return jobs.Rate{}, errors.New("be at most one start in a microsecond")
	}
	return jobs.Per(starts, period), nil
}

// parsePeriod returns the time after the slash.
func parsePeriod(text string) (time.Duration, error) {
	if unit, known := units[text]; known {
		return unit, nil
	}
	period, err := time.ParseDuration(text)
	if err != nil {
		return 0, errors.New("have a time after the slash, such as s, m, h, d, 30s or 500ms")
	}
	return period, nil
}

// Text returns a rate as Parse reads it, and an empty text for the zero rate.
func Text(rate jobs.Rate) string {
	if rate == (jobs.Rate{}) {
		return ""
	}
	for _, unit := range []string{"s", "m", "h", "d"} {
		if rate.Period == units[unit] {
			return fmt.Sprintf("%d/%s", rate.Starts, unit)
		}
	}
	period := rate.Period.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(period, zero) {
			period = strings.TrimSuffix(period, zero[1:])
		}
	}
	return fmt.Sprintf("%d/%s", rate.Starts, period)
}

// PerMinute returns the largest number of starts that a rate allows in a minute of a full backlog; 0 for the zero rate, which bounds none.
func PerMinute(rate jobs.Rate) float64 {
	if rate.Period <= 0 {
		return 0
	}
	return float64(rate.Starts) * float64(time.Minute) / float64(rate.Period)
}
