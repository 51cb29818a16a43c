package cron

import (
	"fmt"
	"time"
)

// Zone returns the time zone with an IANA name such as Europe/Berlin.
func Zone(name string) (*time.Location, error) {
	if name == "" || name == "Local" {
		return nil, fmt.Errorf("zone %q: must be an IANA name such as Europe/Berlin", name)
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("zone %q: must be an IANA name such as Europe/Berlin, which this system knows: %w", name, err)
	}
	return zone, nil
}
