package core

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
)

// JSONIDs returns ids as a JSON list, the form in which statements take them.
func JSONIDs(ids []int64) string {
	text := append(make([]byte, 0, 12*len(ids)+2), '[')
	for i, id := range ids {
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendInt(text, id, 10)
	}
	return string(append(text, ']'))
}

// JSONNames returns names, such as those of queues, as a JSON list.
func JSONNames(names []string) string {
	text := append(make([]byte, 0, 24*len(names)+2), '[')
	for i, name := range names {
		if i > 0 {
			text = append(text, ',')
		}
		text = AppendString(text, name)
	}
	return string(append(text, ']'))
}

// JSONKeys returns limit keys, each after its kind, as a JSON object with a list of keys for each kind. It keeps the order of the keys.
func JSONKeys(keys [][2]string) string {
	of := map[string][]string{}
	for _, k := range keys {
		of[k[0]] = append(of[k[0]], k[1])
	}
	text := append(make([]byte, 0, 24*len(keys)+2), '{')
	for _, kind := range slices.Sorted(maps.Keys(of)) {
		if len(text) > 1 {
			text = append(text, ',')
		}
		text = append(AppendString(text, kind), ':')
		text = append(text, JSONNames(of[kind])...)
	}
	return string(append(text, '}'))
}

// JSONList returns a list of lists of texts and numbers as JSON. It panics for other values.
func JSONList(list any) string {
	text, err := json.Marshal(list)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// IDRange is a range of ids without a gap, from First to Last.
type IDRange struct{ First, Last int64 }

// IDRanges sorts ids and divides them into ranges of at least least ids each; rest holds the ids outside of such ranges.
func IDRanges(ids []int64, least int) (ranges []IDRange, rest []int64) {
	slices.Sort(ids)
	ids = slices.Compact(ids)
	for len(ids) > 0 {
		n := 1
		for n < len(ids) && ids[n] == ids[n-1]+1 {
			n++
		}
		if n >= least {
			ranges = append(ranges, IDRange{ids[0], ids[n-1]})
		} else {
			rest = append(rest, ids[:n]...)
		}
		ids = ids[n:]
	}
	return ranges, rest
}
