package calendar_test

import (
	"slices"
	"testing"
	"time"

	"github.com/sqluice/sqluice/admin/calendar"
)

// counts returns the counts of a week and the title of one of its days.
func counts(t *testing.T, spec, zone string, next, now time.Time, titled int) (list []string, title string) {
	t.Helper()
	week, err := calendar.Week(spec, zone, next, now)
	if err != nil {
		t.Fatal(err)
	}
	for _, day := range week {
		list = append(list, day.Count())
	}
	return list, week[titled].Title()
}

func TestWeek(t *testing.T) {
	at := func(text string) time.Time {
		t.Helper()
		moment, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return moment
	}
	never := time.Time{}
	for _, test := range []struct {
		name, spec, zone string
		next, now        time.Time
		want             []string
		day              int
		title            string
	}{
		{"what is past today does not count", "0 2,14 * * *", "UTC", never, at("2026-11-26T09:30:00Z"),
			[]string{"1", "2", "2", "2", "2", "2", "2"}, 0, "Thu 26 Nov: 14:00"},
		{"a tick at this moment is past", "30 9 * * *", "UTC", never, at("2026-11-26T09:30:00Z"), []string{"0", "1", "1", "1", "1", "1", "1"}, 0, "Thu 26 Nov: none"},
		{"a tick at midnight belongs to its day", "@daily", "UTC", never, at("2026-11-26T00:00:00Z"), []string{"0", "1", "1", "1", "1", "1", "1"}, 1, "Fri 27 Nov: 00:00"},
		{"days are those of the zone", "30 0 * * mon", "Asia/Tokyo", never, at("2026-11-26T16:00:00Z"), []string{"0", "0", "0", "1", "0", "0", "0"}, 0, "Fri 27 Nov: none"},
		{"a day with many", "* * * * *", "UTC", never, at("2026-11-26T23:00:00Z"), []string{"59", "100+", "100+", "100+", "100+", "100+", "100+"}, 1,
			"Fri 27 Nov: 00:00, 00:01, 00:02, 00:03, 00:04, 00:05 and more"},
		{"exactly a hundred", "0-49 0,1 * * *", "UTC", never, at("2026-11-26T23:00:00Z"), []string{"0", "100", "100", "100", "100", "100", "100"}, 1,
			"Fri 27 Nov: 00:00, 00:01, 00:02, 00:03, 00:04, 00:05 and 94 more"},
		{"seconds are named", "15 30 12 * * *", "UTC", never, at("2026-11-26T00:00:01Z"), []string{"1", "1", "1", "1", "1", "1", "1"}, 0, "Thu 26 Nov: 12:30:15"},
		{"no tick before the next one", "0 * * * *", "UTC", at("2026-11-28T22:00:00Z"), at("2026-11-26T09:30:00Z"),
			[]string{"0", "0", "2", "24", "24", "24", "24"}, 2, "Sat 28 Nov: 22:00, 23:00"},
		{"every so often from the next one", "@every 10h", "UTC", at("2026-11-26T11:00:00Z"), at("2026-11-26T09:30:00Z"),
			[]string{"2", "2", "3", "2", "2", "3", "2"}, 0, "Thu 26 Nov: 11:00, 21:00"},
		{"every so often from one that is overdue", "@every 10h", "UTC", at("2026-11-20T01:00:00Z"), at("2026-11-26T09:30:00Z"),
			[]string{"1", "3", "2", "2", "3", "2", "3"}, 1, "Fri 27 Nov: 03:00, 13:00, 23:00"},
		{"every second", "@every 1s", "UTC", at("2026-11-26T09:00:00Z"), at("2026-11-26T23:59:00Z"), []string{"59", "100+", "100+", "100+", "100+", "100+", "100+"}, 0,
			"Thu 26 Nov: 23:59:01, 23:59:02, 23:59:03, 23:59:04, 23:59:05, 23:59:06 and 53 more"},
		{"a day of 23 hours", "0 * * * *", "Europe/Berlin", never, at("2026-03-27T22:30:00Z"), []string{"0", "24", "23", "24", "24", "24", "24"}, 2,
			"Sun 29 Mar: 00:00, 01:00, 03:00, 04:00, 05:00, 06:00 and 17 more"},
		{"a day of 25 hours", "0 * * * *", "Europe/Berlin", never, at("2026-10-23T21:30:00Z"), []string{"0", "24", "25", "24", "24", "24", "24"}, 2,
			"Sun 25 Oct: 00:00, 01:00, 02:00, 02:00, 03:00, 04:00 and 19 more"},
		{"a day without midnight", "30 * * * *", "America/Sao_Paulo", never, at("2018-11-03T12:00:00Z"), []string{"15", "23", "24", "24", "24", "24", "24"}, 1,
			"Sun 4 Nov: 01:30, 02:30, 03:30, 04:30, 05:30, 06:30 and 17 more"},
		{"a zone without a day, whose tick comes at the end of the gap", "0 12 * * *", "Pacific/Apia", never, at("2011-12-29T12:00:00Z"),
			[]string{"1", "2", "1", "1", "1", "1", "1"}, 1, "Sat 31 Dec: 00:00, 12:00"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, title := counts(t, test.spec, test.zone, test.next, test.now, test.day)
			if !slices.Equal(got, test.want) || title != test.title {
				t.Errorf("%s has %q and %q, want %q and %q", test.spec, got, title, test.want, test.title)
			}
		})
	}
}

// TestWeekOfWhatCannotBeRead: rows that a plain INSERT made may hold anything.
func TestWeekOfWhatCannotBeRead(t *testing.T) {
	now := time.Date(2026, 11, 26, 9, 30, 0, 0, time.UTC)
	for _, test := range [][2]string{{"", "UTC"}, {"99 * * * *", "UTC"}, {"* * * * *", "Mars/Base"}, {"* * * * *", ""}} {
		if week, err := calendar.Week(test[0], test[1], now, now); err == nil {
			t.Errorf("%q has the week %v", test, week)
		}
	}
	for _, next := range []time.Time{{}, time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)} {
		if _, title := counts(t, "@every 1s", "UTC", next, now, 0); title != "Thu 26 Nov: none" {
			t.Errorf("from %s on is %q", next, title)
		}
	}
}
