package sqlite

import (
	"errors"
	"os"
	"path/filepath"
)

// sideFile opens a small file of the folder beside the database, and makes both when they are not there. As SQLite
// does with its own files, they get the database's mode and, as far as this process may, its owner: else the first
// user of a database that several users share would shut out the others.
func (s *Store) sideFile(name string) (*os.File, error) {
	path := filepath.Join(s.side, name)
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if !errors.Is(err, os.ErrNotExist) {
		return file, err
	}
	database, err := os.Stat(s.path)
	if err != nil {
		return nil, err
	}
	mode := database.Mode().Perm()
	switch err := os.Mkdir(s.side, 0o700); {
	case err == nil:
		adopt(s.side, mode|mode&0o444>>2, database) // who may read the database may enter
	case !errors.Is(err, os.ErrExist):
		return nil, err
	}
	if file, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, mode); err != nil {
		return nil, err
	}
	adopt(path, mode, database)
	return file, nil
}

// adopt gives a new file the mode (whatever the umask) and owner of the database. Only root may give files away, and
// another process may have done so first: a failure leaves what the user would have got without it.
func adopt(path string, mode os.FileMode, database os.FileInfo) {
	_ = os.Chmod(path, mode)
	giveAway(path, database)
}

// touchSide makes a file of the side folder and returns its path.
func (s *Store) touchSide(name string) (string, error) {
	file, err := s.sideFile(name)
	if err != nil {
		return "", err
	}
	return file.Name(), file.Close()
}
