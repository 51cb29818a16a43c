// Package faultvfs puts a layer of faults between SQLite and the disk. It wraps the VFS that a process opens databases by,
// so the code under test needs no way in: it opens its files as ever, and what lies below one folder goes through the
// layer. There an operation can be made to fail by its number, and all that is written can be noted, so that the disk's
// content after a loss of power at any moment can be made up.
//
// It is for tests: a VFS is a matter of the whole process.
package faultvfs
