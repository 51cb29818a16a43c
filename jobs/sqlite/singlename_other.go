//go:build !linux

package sqlite

// mountedAlone returns false: this system does not report mounts of single files.
func mountedAlone(string) (bool, error) { return false, nil }
