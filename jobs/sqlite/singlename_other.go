//go:build !linux

package sqlite

// mountedAlone returns false: mounts of single files are not known here.
func mountedAlone(string) (bool, error) { return false, nil }
