package main

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ticks a second, in which the kernel reports processor times on Linux.
const ticks = 100

// cpu returns the processor time of a temporary server's processes so far; 0 without one.
func (s *server) cpu() time.Duration {
	if s == nil || s.process == 0 {
		return 0
	}
	// A process that ends between two reads is in neither: a worker's connection ends just when a run is over.
	sum, steady := s.used()
	for reads := 1; !steady && reads < mostReads; reads++ {
		sum, steady = s.used()
	}
	return sum
}

// mostReads bounds the reads of the processes, when some end all the time.
const mostReads = 10

// used reads the processes once, and reports whether none of them ended meanwhile.
func (s *server) used() (sum time.Duration, steady bool) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, true // the pattern is well formed
	}
	own := filepath.Join("/proc", strconv.Itoa(s.process))
	before, _ := statOf(filepath.Join(own, "stat"))
	steady = true
	for _, path := range stats {
		fields, ok := statOf(path)
		if !ok || filepath.Dir(path) != own && fields[1] != strconv.Itoa(s.process) { // the parent
			continue
		}
		if fields[0] == "Z" {
			steady = false // its time may be counted among the ended already
		}
		if precise, ok := onProcessors(filepath.Dir(path)); ok {
			sum += precise
		} else {
			sum += ofTicks(fields[11:13]) // user and system time
		}
	}
	after, ok := statOf(filepath.Join(own, "stat"))
	if !ok {
		return sum, true // the server itself has ended
	}
	// The time of its ended children: a child that ends during this read is counted twice, or not at all.
	return sum + ofTicks(after[13:15]), steady && before != nil && slices.Equal(before[13:15], after[13:15])
}

// statOf returns the fields of a process's stat after its name; not ok when it has ended.
func statOf(path string) (fields []string, ok bool) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, false
	}
	// The name, the second field, is in parentheses and may hold anything.
	_, rest, _ := strings.Cut(string(data), ") ")
	fields = strings.Fields(rest)
	return fields, len(fields) >= 15
}

func ofTicks(fields []string) (sum time.Duration) {
	for _, field := range fields {
		n, _ := strconv.ParseInt(field, 10, 64) // the kernel writes numbers
		sum += time.Duration(n) * time.Second / ticks
	}
	return sum
}

// onProcessors returns the time that the threads of a process have run, to the nanosecond: the first number of
// schedstat, which some kernels lack. An idle server uses only two or three ticks in half a minute.
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
