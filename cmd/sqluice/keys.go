package main

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/jobs"
)

// keysVariable names the environment variable that names the file of keys, as --keys does.
const keysVariable = "SQLUICE_KEYS"

// keysFile returns the name of the file of keys; "" for none.
func (a *app) keysFile() string { return cmp.Or(a.keys, a.getenv(keysVariable)) }

// clientOptions returns the options of the command's client: the cipher, if there is a file of keys.
func (a *app) clientOptions() ([]jobs.ClientOption, error) {
	name := a.keysFile()
	if name == "" {
		return nil, nil
	}
	text, err := readSecret("keys", name)
	if err != nil {
		return nil, err
	}
	keys, err := parseKeys(text)
	if err != nil {
		return nil, usagef("the keys in %s: %w", shown(name), err)
	}
	cipher, err := jobs.NewCipher(keys...)
	if err != nil {
		return nil, usagef("the keys in %s: %w", shown(name), err)
	}
	return []jobs.ClientOption{jobs.WithCipher(cipher)}, nil
}

// readSecret reads a file of keys, a token or a secret. A byte order mark, which no screen shows, would become a part of it.
func readSecret(what, file string) (string, error) {
	const most = 1 << 20
	text, err := readAtMost(file, most)
	if err == nil && len(text) > most {
		err = fmt.Errorf("%s must have at most %d bytes", shown(file), most)
	}
	if err == nil {
		err = core.CheckMark(shown(file), text)
	}
	if err != nil {
		return "", fmt.Errorf("read the %s: %w", what, err)
	}
	return string(text), nil
}

// readAtMost reads a file, but no more than one byte beyond most.
func readAtMost(file string, most int64) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most+1))
}

// parseKeys parses a file of keys: a line for each, with its id and its secret in base64. No error has a part of a secret.
func parseKeys(text string) (keys []jobs.Key, err error) {
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
			return nil, fmt.Errorf("line %d must be an id, a blank and 32 bytes in base64, such as `head -c 32 /dev/urandom | base64` prints", i+1)
		}
		keys = append(keys, jobs.Key{ID: parts[0], Secret: secret})
	}
	if len(keys) == 0 {
		return nil, errors.New("there is none")
	}
	return keys, nil
}

// keyList is the ids of keys for an answer, with how many values each has encrypted.
func keyList(keys map[string]int64) string {
	var list []string
	for _, id := range slices.Sorted(maps.Keys(keys)) {
		list = append(list, fmt.Sprintf("%d with %s", keys[id], strconv.Quote(id)))
	}
	return strings.Join(list, ", ")
}
