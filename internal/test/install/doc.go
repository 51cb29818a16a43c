// Package install tests the installed forms: the command by `go install`, a program that imports the queue, and builds for other
// systems. It is a separate module, because its requirements are needed nowhere else.
package install
