package cron

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
)

// Zone returns the time zone with an IANA name such as Europe/Berlin. Other files of a system's zones are refused: they are another zone on
// each machine, or none, or count leap seconds.
func Zone(name string) (*time.Location, error) {
	first, _, _ := strings.Cut(name, "/")
	others := []string{"Local", "localtime", "posixrules", "Factory", "posix", "right"}
	if path.Clean(name) != name || slices.Contains(others, first) {
		return nil, fmt.Errorf("zone %q: must be an IANA name such as Europe/Berlin", name)
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("zone %q: must be an IANA name such as Europe/Berlin, which this system knows: %w", name, err)
	}
	return zone, nil
}
