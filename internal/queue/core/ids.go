package core

import "strconv"

// JSONIDs returns ids as a JSON list, the form in which statements take them.
func JSONIDs(ids []int64) string {
	text := []byte{'['}
	for i, id := range ids {
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendInt(text, id, 10)
	}
	return string(append(text, ']'))
}
