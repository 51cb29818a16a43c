package webhook

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// longest bounds how long a receiver can ask to wait.
const longest = 24 * time.Hour

// RetryAfter returns how long a receiver asks to wait, with 429 or 503 and the header Retry-After: seconds or a date, of RFC 9110, section
// 10.2.3.
func RetryAfter(answer *http.Response, now time.Time) (time.Duration, bool) {
	if answer.StatusCode != http.StatusTooManyRequests && answer.StatusCode != http.StatusServiceUnavailable {
		return 0, false
	}
	text := strings.TrimSpace(answer.Header.Get("Retry-After"))
	delay := time.Duration(0)
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		delay = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(text); err == nil {
		delay = at.Sub(now)
	} else {
		return 0, false
	}
	return min(max(delay, time.Second), longest), true
}
