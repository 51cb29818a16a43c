package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// ticks a second, in which the kernel tells processor times to every program on Linux.
const ticks = 100

// cpu is what the processes of a temporary server have used so far; 0 when there is none.
func (s *server) cpu() time.Duration {
	if s == nil || s.process == 0 {
		return 0
	}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0
	}
	var sum time.Duration
	for _, path := range stats {
		data, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended: its parent's sum of children has it
		}
		// The name, the second field, is in parentheses and may hold anything.
		_, rest, _ := strings.Cut(string(data), ") ")
		fields := strings.Fields(rest)
		if len(fields) < 15 {
			continue
		}
		used, ended := fields[11:13], fields[13:15] // user and system time of the process, and of its children that have ended
		switch strconv.Itoa(s.process) {
		case filepath.Base(filepath.Dir(path)):
			sum += ofTicks(ended)
		case fields[1]: // the parent
		default:
			continue
		}
		if precise, ok := onProcessors(filepath.Dir(path)); ok {
			sum += precise
		} else {
			sum += ofTicks(used)
		}
	}
	return sum
}

func ofTicks(fields []string) (sum time.Duration) {
	for _, field := range fields {
		n, _ := strconv.ParseInt(field, 10, 64) // the kernel writes numbers
		sum += time.Duration(n) * time.Second / ticks
	}
	return sum
}

// onProcessors is how long the threads of a process have run, to the nanosecond: the first number of schedstat, which not every
// kernel has. In ticks, what an idle server uses in half a minute would be two or three.
func onProcessors(process string) (sum time.Duration, ok bool) {
	paths, _ := filepath.Glob(filepath.Join(process, "task", "[0-9]*", "schedstat")) // the pattern is well formed
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			continue // the thread has ended
		}
		first, _, _ := strings.Cut(string(data), " ")
		n, err := strconv.ParseInt(first, 10, 64)
		if err != nil {
			return 0, false
		}
		sum, ok = sum+time.Duration(n), true
	}
	return sum, ok
}
