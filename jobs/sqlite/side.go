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
	database, err := os.Stat(s.path)
	if err != nil {
		return nil, err
	}
	mode := database.Mode().Perm()
	if err := os.Mkdir(s.side, mode|0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, translateSystem(err)
	}
	adopt(s.side, mode|mode&0o444>>2, database) // who may read the database may enter
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, mode)
	if err != nil {
		return nil, translateSystem(err)
	}
	adopt(path, mode, database)
	return file, nil
}

// adopt gives a file the mode (whatever the umask) and owner of the database, which may have changed since the file
// was made. Only the owner may do the first and only root the second: a failure leaves what there is.
func adopt(path string, mode os.FileMode, database os.FileInfo) {
	info, err := os.Stat(path)
	if err != nil {
		return
	}
	if info.Mode().Perm() != mode {
		_ = os.Chmod(path, mode)
	}
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
