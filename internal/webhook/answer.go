package webhook

import (
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// longest bounds how long a receiver can ask to wait.
const longest = 24 * time.Hour

// secondsForm is a number of seconds: RFC 9110 knows whole ones, some receivers send fractions.
var secondsForm = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?$`)

// RetryAfter returns how long a receiver asks to wait, with 429 or 503 and the header Retry-After: seconds or a date, of RFC 9110, section
// 10.2.3. A fraction of a second is rounded up, and what is longer than a day is cut to it.
func RetryAfter(answer *http.Response, now time.Time) (time.Duration, bool) {
	if answer.StatusCode != http.StatusTooManyRequests && answer.StatusCode != http.StatusServiceUnavailable {
		return 0, false
	}
	text := strings.TrimSpace(answer.Header.Get("Retry-After"))
	delay := time.Duration(0)
	if secondsForm.MatchString(text) {
		seconds, err := strconv.ParseFloat(text, 64)
		if err != nil { // too many for a number, which is infinite then
			seconds = math.Inf(1)
		}
		delay = time.Duration(min(math.Ceil(seconds), longest.Seconds())) * time.Second
	} else if at, err := http.ParseTime(text); err == nil {
		delay = at.Sub(now)
	} else {
		return 0, false
	}
	return min(max(delay, time.Second), longest), true
}
