package cron

import (
	"fmt"
	"time"
)

// Zone returns the time zone with an IANA name such as Europe/Berlin. Names of the system's files that are another zone on each machine, or
// none, are refused.
func Zone(name string) (*time.Location, error) {
	switch name {
	case "", "Local", "localtime", "posixrules", "Factory":
		return nil, fmt.Errorf("zone %q: must be an IANA name such as Europe/Berlin", name)
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("zone %q: must be an IANA name such as Europe/Berlin, which this system knows: %w", name, err)
	}
	return zone, nil
}
