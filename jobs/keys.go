package jobs

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// ReadKeys reads a file of keys for [NewCipher], such as --keys and SQLUICE_KEYS name for the command: a line for each key, with its id, a
// blank and its secret of 32 bytes in base64, as printed by `head -c 32 /dev/urandom | base64`. It ignores empty lines and lines that begin
// with #. The first key is the one to encrypt with. A file without a key, or with another line, returns an [InvalidError], without any part
// of a secret.
func ReadKeys(path string) ([]Key, error) {
	text, err := core.ReadSecret(path)
	if err != nil {
		return nil, fmt.Errorf("read the keys: %w", err)
	}
	keys, err := parseKeys(text)
	return core.Result(keys, err, "the keys in %s", strconv.Quote(path))
}

// parseKeys returns the keys of a file's text.
func parseKeys(text string) (keys []Key, err error) {
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		parts := strings.Fields(line)
		var secret []byte
		var fault error
		if len(parts) == 2 {
			secret, fault = base64.StdEncoding.DecodeString(parts[1])
		}
		if len(parts) != 2 || fault != nil {
			return nil, jobtype.NewInvalidError(fmt.Sprintf("line %d", i+1), "",
				"be an id, a blank and 32 bytes in base64, such as `head -c 32 /dev/urandom | base64` prints")
		}
		keys = append(keys, Key{ID: parts[0], Secret: secret})
	}
	if len(keys) == 0 {
		return nil, jobtype.NewInvalidError("keys", "", "be at least one: there is none")
	}
	return keys, nil
}
