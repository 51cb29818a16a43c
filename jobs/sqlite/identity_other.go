//go:build !unix

package sqlite

import "os"

// identity identifies a file, whatever its path.
type identity struct{ info os.FileInfo }

// identify returns the identity and the size of a file.
func identify(path string) (identity, int64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return identity{}, 0, err
	}
	return identity{info}, info.Size(), nil
}

func (i identity) same(other identity) bool { return os.SameFile(i.info, other.info) }
