//go:build !unix

package main

import "time"

// cpuTime is 0: the system is not asked.
func cpuTime() time.Duration { return 0 }

// peakRSS is 0: the system is not asked.
func peakRSS() float64 { return 0 }
