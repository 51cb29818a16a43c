package core

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
)

// maxSecretFile is the largest size of a file of keys or of a secret, in bytes.
const maxSecretFile = 1 << 20

// ReadSecret returns the text of a file of keys, of a token or of a secret. It refuses a byte order mark, which no screen shows and which
// would become a part of the secret. No error contains a part of the text.
func ReadSecret(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxSecretFile+1))
	if err != nil {
		return "", err
	}
	if len(text) > maxSecretFile {
		return "", fmt.Errorf("%s must have at most %d bytes", strconv.Quote(file), maxSecretFile)
	}
	if err := CheckMark(strconv.Quote(file), text); err != nil {
		return "", errors.New(err.Error()) // the fault is in how the file was written, not in an argument: no InvalidError
	}
	return string(text), nil
}
