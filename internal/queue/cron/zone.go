package cron

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
)

// Zone returns the time zone with an IANA name such as Europe/Berlin. It refuses the other files of a system's zones: on each machine
// they are another zone, or missing, or count leap seconds.
func Zone(name string) (*time.Location, error) {
	first, _, _ := strings.Cut(name, "/")
	others := []string{"Local", "localtime", "posixrules", "Factory", "posix", "right"}
	if path.Clean(name) != name || slices.Contains(others, first) {
		return nil, fmt.Errorf("zone %q: must be an IANA name such as Europe/Berlin", name)
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, &ZoneError{Name: name, Err: err, NoData: !hasZones()}
	}
	return zone, nil
}

// ZoneError is the error of Zone for a name that this system does not know. Another worker's system may know it.
type ZoneError struct {
	Name   string
	Err    error
	NoData bool // the system has no zones at all
}

func (e *ZoneError) Error() string {
	return fmt.Sprintf("zone %q: must %s: %v", e.Name, e.Must(), e.Err)
}
func (e *ZoneError) Unwrap() error { return e.Err }

// Must returns the rule for a zone, as a phrase that follows "must".
func (e *ZoneError) Must() string {
	if e.NoData {
		return "be one that this system knows, and it has no database of zones: install tzdata, or import time/tzdata in the program"
	}
	return "be an IANA name such as Europe/Berlin, which this system knows"
}

// hasZones reports whether this system has a database of zones: every such database has the zone that it loads.
func hasZones() bool {
	_, err := time.LoadLocation("Europe/Berlin")
	return err == nil
}
