package main

import "time"

// task is what a worker process is to do: its last argument, as JSON. Durations are nanoseconds.
type task struct {
	System      string // the contender's key
	Settings    string
	Durability  string
	Role        string
	Path        string        // of the database: its file, URL or address
	Concurrency int           // slots of a worker
	Jobs        int           // how many to add or to run; of a drain, how many there are for all processes
	Size        int           // bytes of a payload's padding
	Callers     int           // of roleInsert
	Rate        float64       // of rolePaced and roleLatency: jobs a second
	Batch       int           // of rolePaced: jobs added by one call; 1 when 0
	Hold        time.Duration // how long a handler takes
	For         time.Duration // how long roleIdle goes on
	Profile     string        // where this program writes a CPU profile, if anywhere

	command []string // of the process when it is not this program
}

// begun is the start of a job in a worker process.
type begun struct {
	N  int   // of the payload
	At int64 // nanoseconds since 1970, of the clock that the processes of a machine share
}

// report is what a worker process says at its end. Every field may be left out where it does not apply.
type report struct {
	CPU     time.Duration // of the process, from begin to done
	PeakRSS int64         // bytes, at done
	Stalled time.Duration // of a drain that gave up jobs which did not come: how long it waited for them in vain
	Errors  int           // of handlers, inserts and the library, when the process went on after them
	Begun   []begun       // the starts that it saw, also those of a job that has started before
	Sent    []int64       // when each job was sent, by its number, as of begun.At
	Laps    []int64       // nanoseconds, of roles that measure themselves
}
