package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// peakRSS returns the peak memory of this process in bytes, and 0 when it is unknown. getrusage is no use: its maximum
// outlives exec, so that a worker process would begin with that of its parent.
func peakRSS() int64 { return statusBytes("/proc/self/status", "VmHWM:") }

// residentBytes returns the memory of a process now, and 0 when it is unknown.
func residentBytes(process int) int64 {
	return statusBytes(fmt.Sprintf("/proc/%d/status", process), "VmRSS:")
}

// statusBytes returns a field of /proc/PID/status that has the unit kB.
func statusBytes(path, field string) int64 {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, field); ok {
			kb, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			if err != nil {
				return 0
			}
			return kb << 10
		}
	}
	return 0
}
