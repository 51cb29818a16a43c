//go:build !unix

package main

import "time"

// cpuTime returns 0: it is not known on this system.
func cpuTime() time.Duration { return 0 }

// peakRSS returns 0: it is not known on this system.
func peakRSS() float64 { return 0 }
