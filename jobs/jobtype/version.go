package jobtype

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
)

// VersionField is the field of a job's metadata that holds the version of its payload.
const VersionField = "sqluice_version"

// PayloadVersion returns the version of a payload by its job's metadata: 0 without any, and the largest int for one that is larger. The
// error says that the field is not a whole number from 0 on; other programs may have written it.
func PayloadVersion(metadata json.RawMessage) (int, error) {
	// A field's name may be written with escapes.
	if !bytes.Contains(metadata, []byte(VersionField)) && bytes.IndexByte(metadata, '\\') < 0 {
		return 0, nil
	}
	var fields struct {
		Version json.RawMessage `json:"sqluice_version"`
	}
	if json.Unmarshal(metadata, &fields) != nil || len(fields.Version) == 0 || string(fields.Version) == "null" {
		return 0, nil
	}
	// Some languages write 1.0 or 1e0.
	number, err := strconv.ParseFloat(string(fields.Version), 64)
	if err != nil && !math.IsInf(number, 1) || number < 0 || number != math.Trunc(number) {
		return 0, NewInvalidError(VersionField, string(fields.Version), "be a whole number from 0 on, the version of the payload")
	}
	if number >= math.MaxInt {
		return math.MaxInt, nil
	}
	return int(number), nil
}

// PayloadVersion returns the version of the job's payload, which was its kind's Version at the enqueue, and 0 for none or one that is not a
// number.
func (j Job) PayloadVersion() int {
	version, err := PayloadVersion(j.Metadata)
	if err != nil {
		return 0
	}
	return version
}
