//go:build !linux

package main

import (
	"runtime"
	"syscall"
)

// peakRSS returns the peak memory of this process in bytes.
func peakRSS() int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return int64(u.Maxrss)
	}
	return int64(u.Maxrss) << 10 // this system counts in kilobytes
}

// residentBytes is not known here.
func residentBytes(int) int64 { return 0 }
