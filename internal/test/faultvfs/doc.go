// Package faultvfs puts a layer of faults between SQLite and the disk. It wraps the VFS through which a process opens
// databases. So the code under test needs no hook: it opens its files normally, and files below one folder go through
// the layer. The layer can make an operation fail by its number. It can also record all writes, from which a test
// computes the disk's content after a loss of power at any moment.
//
// It is for tests only: a VFS affects the whole process.
package faultvfs
