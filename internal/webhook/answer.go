package webhook

import (
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// maxRetryAfter bounds the delay that a receiver can ask for.
const maxRetryAfter = 24 * time.Hour

// secondsForm matches a number of seconds. RFC 9110 has whole ones; some receivers send fractions.
var secondsForm = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?$`)

// RetryAfter returns the delay of the header Retry-After in an answer with the status 429 or 503: seconds or a date, RFC 9110, section
// 10.2.3. It rounds fractions of a second up, and returns at most a day.
func RetryAfter(answer *http.Response, now time.Time) (time.Duration, bool) {
	if answer.StatusCode != http.StatusTooManyRequests && answer.StatusCode != http.StatusServiceUnavailable {
		return 0, false
	}
	text := strings.TrimSpace(answer.Header.Get("Retry-After"))
	delay := time.Duration(0)
	if secondsForm.MatchString(text) {
		seconds, err := strconv.ParseFloat(text, 64)
		if err != nil { // the number is too large
			seconds = math.Inf(1)
		}
		delay = time.Duration(min(math.Ceil(seconds), maxRetryAfter.Seconds())) * time.Second
	} else if at, err := http.ParseTime(text); err == nil {
		delay = at.Sub(now)
	} else {
		return 0, false
	}
	return min(max(delay, time.Second), maxRetryAfter), true
}
