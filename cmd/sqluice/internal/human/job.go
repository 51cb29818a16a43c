package human

import (
	"fmt"

	"github.com/sqluice/sqluice/jobs"
)

// Attempts returns the counted attempts of a job and their maximum, as "2/25".
func Attempts(job jobs.Job) string {
	return fmt.Sprintf("%d/%d", job.Attempt-job.Uncounted, job.MaxAttempts)
}

// Shorten returns a text of at most most characters. If it cuts s, the last character is an ellipsis.
func Shorten(s string, most int) string {
	runes := []rune(s)
	if len(runes) <= most {
		return s
	}
	return string(runes[:most-1]) + "…"
}
