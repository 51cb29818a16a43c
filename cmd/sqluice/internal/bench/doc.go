// Package bench measures the queue on this machine with the user's database, for the command `sqluice bench`.
//
// Run makes a [scratchQueue], a queue of its own beside the user's: a file in a new folder, or a schema on the same server. It measures there,
// prints a [Line] for each measurement, and removes that queue. A drain by several processes and the latency to another process need
// children: the command starts itself as `sqluice bench-process`, which runs a [Process]. Parent and child speak in lines over pipes.
//
// The package knows no flags and never writes to the user's queue. [Host] holds the functions of the command that it needs.
package bench
