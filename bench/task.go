package main

import "time"

// task is the work of a worker process: its last argument, as JSON. Durations are nanoseconds.
type task struct {
	System      string // the contender's key
	Settings    string
	Durability  string
	Role        string
	Path        string        // of the database: its file, URL or address
	Concurrency int           // slots of a worker
	Jobs        int           // the number of jobs to add or to run; in a drain, for all processes together
	Size        int           // bytes of a payload's padding
	Callers     int           // of roleInsert
	Rate        float64       // of rolePaced and roleLatency: jobs a second
	Batch       int           // of rolePaced: jobs added by one call; 1 when 0
	Hold        time.Duration // the duration of a handler
	Limit       string        // of roleLimited, and of the drain after it
	Ahead       int           // of a drain by sqluice: Config.Ahead
	For         time.Duration // the duration of roleIdle
	Profile     string        // where this program writes a CPU profile, if anywhere

	command []string // of the process when it is not this program
}

// jobStart is the start of a job in a worker process.
type jobStart struct {
	N  int   // of the payload
	At int64 // nanoseconds since 1970, of the clock that the processes of a machine share
}

// report is the final report of a worker process. Fields that do not apply may be left out.
type report struct {
	CPU     time.Duration // of the process, from begin to done
	PeakRSS int64         // bytes, at done
	Stalled time.Duration // of a drain: the time for which it waited for missing jobs before it gave up
	Errors  int           // of handlers, inserts and the library, when the process continued after them, until its workers stop
	First   string        // the text of the first of Errors
	Begun   []jobStart    // the observed starts, including repeated ones
	Sent    []int64       // when each job was sent, by its number, as of begun.At
	Laps    []int64       // nanoseconds, of roles that measure themselves
}
