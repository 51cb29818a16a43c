// Package install tests what others get: the command by `go install`, a program that imports the queue, and builds for other systems.
// It is a module of its own, because nothing of it is needed by those others.
package install
