//go:build !unix

package bench

import "time"

// cpuTime returns 0: this system does not report it.
func cpuTime() time.Duration { return 0 }

// peakRSS returns 0: this system does not report it.
func peakRSS() float64 { return 0 }
