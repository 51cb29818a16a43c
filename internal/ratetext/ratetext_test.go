package ratetext

import (
	"strings"
	"testing"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

func TestRatesAreReadAndWritten(t *testing.T) {
	for text, want := range map[string]jobs.Rate{
		"10/s": jobs.Per(10, time.Second), "100/m": jobs.Per(100, time.Minute), "1000/h": jobs.Per(1000, time.Hour), "1000/d": jobs.Per(1000, 24*time.Hour),
		"5/30s": jobs.Per(5, 30*time.Second), "1/1ms": jobs.Per(1, time.Millisecond), "7/1h30m": jobs.Per(7, 90*time.Minute), "1000000/s": jobs.Per(1_000_000, time.Second),
		"3/10m": jobs.Per(3, 10*time.Minute), "3/2h": jobs.Per(3, 2*time.Hour), "3/1h0m1s": jobs.Per(3, time.Hour+time.Second),
	} {
		got, err := Parse(text)
		if err != nil || got != want {
			t.Errorf("%s is read as %+v: %v", text, got, err)
		}
		if back := Text(got); back != text {
			t.Errorf("%s is written as %s", text, back)
		}
	}
	if rate, err := Parse("4/60s"); err != nil || Text(rate) != "4/m" {
		t.Errorf("4/60s is %s: %v", Text(rate), err)
	}
	if Text(jobs.Rate{}) != "" {
		t.Error("no rate has a text")
	}
}

func TestFaultsOfRatesNameTheBound(t *testing.T) {
	for text, want := range map[string]string{
		"": "such as 10/s", "10": "such as 10/s", "x/s": "such as 10/s", "1.5/s": "such as 10/s", "/s": "such as 10/s",
		"0/s": "from 1 to 1000000", "-1/s": "from 1 to 1000000", "1000001/s": "from 1 to 1000000", "99999999999999999999/s": "from 1 to 1000000",
		"1/": "after the slash", "1/week": "after the slash", "1/30": "after the slash", "1/s/s": "after the slash",
		"1/999us": "from 1ms to 1d", "1/25h": "from 1ms to 1d", "1/-1s": "from 1ms to 1d", "1/0s": "from 1ms to 1d",
		"1001/1ms": "one start in a microsecond",
	} {
		if rate, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is read as %+v: %v, want %s", text, rate, err, want)
		}
	}
}

func TestStartsAMinute(t *testing.T) {
	for rate, want := range map[jobs.Rate]float64{{}: 0, jobs.Per(10, time.Second): 600, jobs.Per(1, time.Hour): 1. / 60, jobs.Per(5, 30*time.Second): 10} {
		if got := PerMinute(rate); got != want {
			t.Errorf("%s is %v a minute, want %v", Text(rate), got, want)
		}
	}
}
