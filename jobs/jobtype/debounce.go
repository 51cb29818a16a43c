package jobtype

import (
	"encoding/json"
	"time"
)

// DebounceField is the field of a job's metadata that holds its [Debounce].
const DebounceField = "sqluice_debounce"

// Debounce holds the debounce options of the enqueue whose payload the job has.
type Debounce struct {
	Quiet  time.Duration `json:"quiet_ns"`
	AtMost time.Duration `json:"at_most_ns,omitempty"` // from the job's creation on; 0 for no bound
}

// Debounced returns the job's debounce options; zero if it has none, or when its metadata are withheld.
func (j Job) Debounced() Debounce {
	var metadata struct {
		Debounce Debounce `json:"sqluice_debounce"`
	}
	if len(j.Metadata) == 0 || json.Unmarshal(j.Metadata, &metadata) != nil {
		return Debounce{}
	}
	return metadata.Debounce
}
