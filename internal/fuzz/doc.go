// Package fuzz holds fuzz targets that need both engines, side by side: what one takes the other takes too, and both
// give the same back. Targets of a single package stand beside its tests. run.sh runs them all.
package fuzz
