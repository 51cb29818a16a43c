package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/jobs"
)

// keysVariable is the environment variable with the name of the file of keys: the default of --keys.
const keysVariable = "SQLUICE_KEYS"

// keysFile returns the name of the file of keys; "" for none.
func (a *app) keysFile() string { return cmp.Or(a.keys, a.getenv(keysVariable)) }

// clientOptions returns the options of the command's client: the cipher, if there is a file of keys.
func (a *app) clientOptions() ([]jobs.ClientOption, error) {
	name := a.keysFile()
	if name == "" {
		return nil, nil
	}
	keys, err := jobs.ReadKeys(name)
	if len(invalidErrors(err)) > 0 {
		return nil, &usageError{err}
	}
	if err != nil {
		return nil, err
	}
	cipher, err := jobs.NewCipher(keys...)
	if err != nil {
		return nil, usagef("the keys in %s: %w", shown(name), err)
	}
	return []jobs.ClientOption{jobs.WithCipher(cipher)}, nil
}

// readSecret reads a token or a secret.
func readSecret(what, file string) (string, error) {
	text, err := core.ReadSecret(file)
	if err != nil {
		return "", fmt.Errorf("read the %s: %w", what, err)
	}
	return text, nil
}

// keyList returns the ids of keys for an answer, each with the number of values that it encrypts.
func keyList(keys map[string]int64) string {
	var list []string
	for _, id := range slices.Sorted(maps.Keys(keys)) {
		list = append(list, fmt.Sprintf("%d with %s", keys[id], strconv.Quote(id)))
	}
	return strings.Join(list, ", ")
}
