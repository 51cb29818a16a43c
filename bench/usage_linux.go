package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// peakRSS is the most memory, in bytes, that this process has had, and 0 when that cannot be known. getrusage would
// not do: its maximum outlives exec, so that a worker process would begin with that of the process that started it.
func peakRSS() int64 { return statusBytes("/proc/self/status", "VmHWM:") }

// residentBytes is how much memory a process has now, and 0 when that cannot be known.
func residentBytes(process int) int64 {
	return statusBytes(fmt.Sprintf("/proc/%d/status", process), "VmRSS:")
}

// statusBytes is a field of /proc/PID/status that has the unit kB.
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
