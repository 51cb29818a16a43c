package cron

import (
	"archive/zip"
	"crypto/sha256"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	allZones = flag.Bool("zones", false, "try every zone, from 2000 to 2040")
	zonePart = flag.String("zones-part", "1/1", "of all zones in order of name, the share to try, such as 2/6: some take longer than a test may")
)

// oracles returns specifications, each with an equivalent Go function of local times.
func oracles() []struct {
	text  string
	fixed bool
	match func(t time.Time) bool
} {
	lastDay := func(t time.Time) bool { return t.AddDate(0, 0, 1).Month() != t.Month() }
	return []struct {
		text  string
		fixed bool
		match func(t time.Time) bool
	}{
		{"30 2 * * *", true, func(t time.Time) bool { return t.Hour() == 2 && t.Minute() == 30 }},
		{"*/15 * * * *", false, func(t time.Time) bool { return t.Minute()%15 == 0 }},
		{"0,59 0,1,23 1,15 * mon", true, func(t time.Time) bool {
			return (t.Minute() == 0 || t.Minute() == 59) && (t.Hour() < 2 || t.Hour() == 23) && (t.Day() == 1 || t.Day() == 15 || t.Weekday() == time.Monday)
		}},
		{"45 0-23/2 L * sun#2,6", false, func(t time.Time) bool {
			sunday := t.Weekday() == time.Sunday && t.Day() > 7 && t.Day() <= 14
			return t.Minute() == 45 && t.Hour()%2 == 0 && (lastDay(t) || sunday || t.Weekday() == time.Saturday)
		}},
		{"5 0 29 2 *", true, func(t time.Time) bool {
			return t.Minute() == 5 && t.Hour() == 0 && t.Day() == 29 && t.Month() == time.February
		}},
	}
}

// Next returns the same ticks as a walk over all minutes, in each zone of the two databases of zones. The short form tries some zones.
func TestTicksAreThoseOfAWalkOverAllMinutes(t *testing.T) {
	from, to := time.Date(2010, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2013, 1, 1, 0, 0, 0, 0, time.UTC)
	if *allZones {
		from, to = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2041, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	zones := zonesToTry(t)
	total, minutes := 0, minutesBetween(from, to)
	names := share(t, slices.Sorted(maps.Keys(zones)))
	for _, name := range names {
		zone := zones[name]
		n := 0
		for i, ticks := range minutes.walk(from, to, zone) {
			o := oracles()[i]
			s, err := Parse(o.text)
			if err != nil {
				t.Fatal(err)
			}
			if s.fixed != o.fixed {
				t.Fatalf("%s: fixed is %v", o.text, s.fixed)
			}
			at := from.Add(-time.Second)
			for _, want := range ticks {
				if at = s.Next(at, zone); at.Unix() != want {
					t.Fatalf("%s in %s: after the tick before %s comes %s", o.text, name, time.Unix(want, 0).In(zone), at.In(zone))
				}
				n++
			}
		}
		total += n
	}
	t.Logf("%d ticks in %d of %d zones", total, len(names), len(zones))
}

// share returns the share of all names that the flag asks for.
func share(t *testing.T, names []string) (list []string) {
	t.Helper()
	var part, parts int
	if _, err := fmt.Sscanf(*zonePart, "%d/%d", &part, &parts); err != nil || part < 1 || part > parts {
		t.Fatalf("-zones-part %q is not like 2/6: %v", *zonePart, err)
	}
	for i, name := range names {
		if i%parts == part-1 {
			list = append(list, name)
		}
	}
	return list
}

// localMinutes holds for each minute of a local clock the oracles that match, as the bits of their numbers.
type localMinutes struct {
	first int64
	due   []uint8
}

// minutesBetween returns the local minutes that zones have between two times, with a margin.
func minutesBetween(from, to time.Time) localMinutes {
	all := oracles()
	m := localMinutes{first: (from.Unix() - 5*secondsOfDay) / 60}
	for n := m.first; n < (to.Unix()+2*secondsOfDay)/60; n++ {
		local, bits := time.Unix(n*60, 0).UTC(), uint8(0)
		for i, o := range all {
			if o.match(local) {
				bits |= 1 << i
			}
		}
		m.due = append(m.due, bits)
	}
	return m
}

func (m localMinutes) at(n int64) uint8 { return m.due[n-m.first] }

// walk returns the ticks of all oracles from a minute to another.
func (m localMinutes) walk(from, to time.Time, zone *time.Location) [][]int64 {
	all := oracles()
	ticks, fixed := make([][]int64, len(all)), uint8(0)
	for i, o := range all {
		if o.fixed {
			fixed |= 1 << i
		}
	}
	start := from.Unix() - 3*secondsOfDay
	unseen := int64(-1 << 62) // the first local minute that the walk has not seen yet
	for u := start; u < to.Unix(); u += 60 {
		_, offset := time.Unix(u, 0).In(zone).Zone()
		now := (u + int64(offset)) / 60
		due := m.at(now) &^ fixed
		if u > start {
			for n := unseen; n <= now; n++ {
				due |= m.at(n) & fixed
			}
		}
		for i := range all {
			if due&(1<<i) != 0 && u >= from.Unix() {
				ticks[i] = append(ticks[i], u)
			}
		}
		unseen = max(unseen, now+1)
	}
	return ticks
}

// zonesToTry returns zones by name and database: the ones with the strangest days, or every zone whose content differs from all others.
func zonesToTry(t *testing.T) map[string]*time.Location {
	t.Helper()
	some := []string{"UTC", "Europe/Berlin", "Pacific/Apia", "Australia/Lord_Howe", "America/Havana", "Africa/Casablanca", "America/Sao_Paulo"}
	zones, seen := map[string]*time.Location{}, map[[32]byte]bool{}
	add := func(database, name string, data []byte) {
		sum := sha256.Sum256(data)
		if !strings.HasPrefix(string(data), "TZif") || seen[sum] || !*allZones && !slices.Contains(some, name) {
			return
		}
		zone, err := time.LoadLocationFromTZData(name, data)
		if err != nil {
			t.Fatal(err)
		}
		seen[sum], zones[database+name] = true, zone
	}
	root, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	archive, err := zip.OpenReader(filepath.Join(strings.TrimSpace(string(root)), "lib/time/zoneinfo.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	for _, f := range archive.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		add("Go's ", f.Name, data)
	}
	const system = "/usr/share/zoneinfo"
	for _, f := range archive.File {
		if data, err := os.ReadFile(filepath.Join(system, f.Name)); err == nil {
			add("the system's ", f.Name, data)
		}
	}
	return zones
}
