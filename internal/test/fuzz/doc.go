// Package fuzz holds fuzz targets that need both engines: both accept the same input, and both return it unchanged.
// Targets of a single package stand beside its tests. run.sh runs them all.
package fuzz
