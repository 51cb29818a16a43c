package cron

import (
	"strings"
	"testing"
	"time"
)

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                                      "five fields",
		"* * * *":                               "not 4",
		"* * * * * * *":                         "not 7",
		"60 * * * *":                            `minute "60": must be from 0 to 59`,
		"-1 * * * *":                            "minute",
		"+5 * * * *":                            "minute",
		"5, * * * *":                            "empty",
		",5 * * * *":                            "empty",
		"5-3 * * * *":                           "must not end before it begins",
		"5/10 * * * *":                          "such as 5-59/10",
		"*/0 * * * *":                           "step must be from 1 to 59",
		"*/60 * * * *":                          "step",
		"*/ * * * *":                            "step",
		"* 24 * * *":                            "hour",
		"* * 0 * *":                             "day of month",
		"* * 32 * *":                            "day of month",
		"* * * 13 *":                            "month",
		"* * * foo *":                           "month",
		"* * * * 8":                             "day of week",
		"* * * * mon#6":                         "day of week",
		"* * * * 1#0":                           "day of week",
		"* * 1L * *":                            "day of month",
		"* L * * *":                             "hour",
		"0 0 30 2 *":                            "no month",
		"0 0 31 4,6,9,11 *":                     "no month",
		"@every":                                "@every and a duration",
		"@every 0s":                             "from 1s",
		"@every -5s":                            "from 1s",
		"@every 1500ms":                         "whole seconds",
		"@every soon":                           "such as 90s",
		"@reboot":                               "must be @yearly",
		"TZ=0 * * * * *":                        "time zone",
		"CRON_TZ=Europe/Berlin * * * * *":       "time zone",
		"001 * * * *":                           "minute",
		"0 2 * *\n*":                            `plain spaces between its fields, not '\n'`,
		"0\t2 * * *":                            `not '\t'`,
		"0 2 * * *\r\n":                         `not '\r'`,
		"0 2 * * *\x00":                         `not '\x00'`,
		"0 2 * * *\u0085":                       `not '\u0085'`,
		"0\u00a02 * * *":                        `not '\u00a0'`,
		"0\u20072 * * *":                        `not '\u2007'`,
		"0\u30002 * * *":                        `not '\u3000'`,
		"@every 90s\n":                          `not '\n'`,
		"@every \t90s":                          `not '\t'`,
		"@daily\n":                              `not '\n'`,
		strings.Repeat("1,", 150) + "1 * * * *": "at most 200 characters",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v does not say %q", text, err, want)
		}
	}
}

func TestNext(t *testing.T) {
	for _, test := range []struct{ text, zone, after, want string }{
		{"0 2 * * *", "UTC", "2026-11-26T02:00:00Z", "2026-11-27T02:00:00Z"},
		{"@every 90s", "UTC", "2026-11-26T02:00:00Z", "2026-11-26T02:01:30Z"},
		{"@daily", "America/New_York", "2026-11-26T02:00:00Z", "2026-11-26T05:00:00Z"},
		{"30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-29T01:00:00Z"}, // the end of the gap
		{"30 2 * * *", "Europe/Berlin", "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"}, //
		{"30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", "2026-10-25T00:30:00Z"}, // the first of two
		{"30 2 * * *", "Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"}, //
		{"30 * * * *", "Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"}, // both
		{"0 12 * * *", "Pacific/Apia", "2011-12-29T22:00:00Z", "2011-12-30T10:00:00Z"},  // the day that was left out
		{"0 0 29 2 *", "UTC", "2096-03-01T00:00:00Z", "2104-02-29T00:00:00Z"},           // 2100 is no leap year
		{"0 0 * * 7", "UTC", "2026-11-26T00:00:00Z", "2026-11-29T00:00:00Z"},            // Sunday
		{"0 0 * * fri-sun", "UTC", "2026-11-28T00:00:00Z", "2026-11-29T00:00:00Z"},      //
		{"0 0 */2 * mon", "UTC", "2026-11-26T00:00:00Z", "2026-12-07T00:00:00Z"},        // odd days that are Mondays
		{"*/10 0 0 1 1 *", "UTC", "2026-01-01T00:00:50Z", "2027-01-01T00:00:00Z"},       // with seconds
		{"15 30 2 * * *", "Europe/Berlin", "2026-10-25T00:30:15Z", "2026-10-26T01:30:15Z"},
		{"0 0 * jan MON#1", "UTC", "2026-11-26T00:00:00Z", "2027-01-04T00:00:00Z"},
		{"0 0 * * 5L", "UTC", "2026-11-26T00:00:00Z", "2026-11-27T00:00:00Z"},
		{"59 23 L * *", "UTC", "2028-02-01T00:00:00Z", "2028-02-29T23:59:00Z"},
		{"*/5 2 29 3 *", "Europe/Berlin", "2026-01-01T00:00:00Z", "2027-03-29T00:00:00Z"}, // real time: no such minute in 2026
	} {
		zone, err := time.LoadLocation(test.zone)
		if err != nil {
			t.Fatal(err)
		}
		after, err := time.Parse(time.RFC3339, test.after)
		if err != nil {
			t.Fatal(err)
		}
		s, err := Parse(test.text)
		if err != nil {
			t.Fatal(err)
		}
		if s.String() != test.text {
			t.Errorf("%q is told as %q", test.text, s)
		}
		if have := s.Next(after, zone).Format(time.RFC3339); have != test.want {
			t.Errorf("%s in %s after %s is %s, not %s", test.text, test.zone, test.after, have, test.want)
		}
	}
}

// A time that its zone always leaves out is never due, and the search for it ends.
func TestNever(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	s, err := Parse("*/5 2 * 3 sunL")
	if err != nil {
		t.Fatal(err)
	}
	if s.day.starOfWeek || !s.day.star {
		t.Fatalf("%+v", s.day)
	}
	if at := s.Next(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), zone); !at.IsZero() {
		t.Errorf("it is due at %s", at.In(zone))
	}
	if at := (Spec{}).Next(time.Now(), time.UTC); !at.IsZero() {
		t.Errorf("no specification is due at %s", at)
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"0 2 * * *", "@every 90s", "*/5 0-23 L jan-mar mon#2,5L", "0 0 0 29 2 ?", "1,2-4/2 * * * 7"} {
		f.Add(text, int64(1_700_000_000))
	}
	zone, err := time.LoadLocation("America/Havana")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string, unix int64) {
		s, err := Parse(text)
		if err != nil {
			return
		}
		after := time.Unix(unix%4_000_000_000, 0)
		at := s.Next(after, zone)
		if !at.IsZero() && !at.After(after) {
			t.Errorf("%q: after %s comes %s", text, after, at)
		}
		if again, err := Parse(s.String()); err != nil || again != s {
			t.Errorf("%q is read as %+v, then as %+v, %v", text, s, again, err)
		}
	})
}

func BenchmarkNext(b *testing.B) {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		b.Fatal(err)
	}
	s, err := Parse("30 2 * * *")
	if err != nil {
		b.Fatal(err)
	}
	at := time.Now()
	for b.Loop() {
		at = s.Next(at, zone)
		if at.Year() > 2100 {
			at = time.Now()
		}
	}
}
