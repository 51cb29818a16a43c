//go:build !linux

package main

import (
	"runtime"
	"syscall"
)

// peakRSS is the most memory, in bytes, that this process has had.
func peakRSS() int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return int64(u.Maxrss)
	}
	return int64(u.Maxrss) << 10 // elsewhere it counts in kilobytes
}

// residentBytes is not known here.
func residentBytes(int) int64 { return 0 }
